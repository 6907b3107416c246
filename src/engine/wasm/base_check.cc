#include "engine/wasm/base_check.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/unique_fd.h"

namespace caisson {
namespace {

// The relevant parts of BaseHeader in worker/base_file.h. The worker owns the format and shares no
// header with the host. tests/cli runs this on the real file, so that the two cannot diverge.
constexpr char kMagic[8] = {'C', 'A', 'I', 'S', 'B', 'A', 'S', '1'};
constexpr std::size_t kHashOffset = 48;
constexpr std::size_t kHeaderBytes = 80;

Error Damaged(const std::string& path, const char* how) {
  return Error(ErrorCode::kInvalidArgument, path + " is damaged: " + how);
}

class Mapping {
 public:
  Mapping(const UniqueFd& fd, std::size_t size)
      : bytes_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0)), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (valid()) ::munmap(bytes_, size_);
  }
  bool valid() const { return bytes_ != MAP_FAILED; }
  const unsigned char* bytes() const { return static_cast<const unsigned char*>(bytes_); }

 private:
  void* bytes_;
  std::size_t size_;
};

}  // namespace

Result<std::array<std::uint8_t, 32>> ReadBaseHash(const std::string& path) {
  std::array<char, kHeaderBytes> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(header.data(), header.size())) return Damaged(path, "it is too short");
  if (std::memcmp(header.data(), kMagic, sizeof kMagic) != 0) {
    return Damaged(path, "it is not a base file");
  }
  std::array<std::uint8_t, 32> hash{};
  std::memcpy(hash.data(), header.data() + kHashOffset, hash.size());
  return hash;
}

Result<BaseCheck> CheckBase(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "open " + path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return Error::FromErrno(errno, "stat " + path);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size < kHeaderBytes) return Damaged(path, "it is too short");
  const Mapping map(file, size);
  if (!map.valid()) return Error::FromErrno(errno, "map " + path);
  if (std::memcmp(map.bytes(), kMagic, sizeof kMagic) != 0) {
    return Damaged(path, "it is not a base file");
  }
  BaseCheck check{.bytes = size};
  ::SHA256(map.bytes() + kHeaderBytes, size - kHeaderBytes, check.sha256.data());
  if (std::memcmp(map.bytes() + kHashOffset, check.sha256.data(), check.sha256.size()) != 0) {
    return Damaged(path, "its SHA-256 is not the one it was built with");
  }
  return check;
}

}  // namespace caisson
