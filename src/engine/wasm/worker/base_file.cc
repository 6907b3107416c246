#include "engine/wasm/worker/base_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace caisson::worker {
namespace {

Error Malformed(const char* what) {
  return Error(ErrorCode::kInvalidArgument, std::string("caisson.base is damaged: ") + what);
}

}  // namespace

Result<BaseFile> BaseFile::Open(UniqueFd fd) {
  BaseFile base;
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return Error::FromErrno(errno, "stat caisson.base");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size < kPageBytes) return Malformed("too short");

  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) return Error::FromErrno(errno, "map caisson.base");
  base.fd_ = std::move(fd);
  base.map_ = static_cast<const std::uint8_t*>(map);
  base.map_bytes_ = size;

  BaseHeader& header = base.header_;
  std::memcpy(&header, base.map_, sizeof header);
  if (std::memcmp(header.magic, kBaseMagic, sizeof kBaseMagic) != 0) return Malformed("no magic");
  const std::uint64_t memory_bytes = header.wasm_pages * kWasmPageBytes;
  if (header.memory_offset % kPageBytes != 0 || header.memory_offset > size ||
      memory_bytes > size - header.memory_offset || header.library_offset > size ||
      header.library_bytes > size - header.library_offset ||
      header.hot_ranges > (header.memory_offset - sizeof header) / sizeof(PageRange)) {
    return Malformed("a part lies outside the file");
  }
  base.hot_.resize(header.hot_ranges);
  if (!base.hot_.empty()) {
    std::memcpy(base.hot_.data(), base.map_ + sizeof header, base.hot_.size() * sizeof(PageRange));
  }
  base.hot_pages_.resize(memory_bytes / kPageBytes);
  for (const PageRange& range : base.hot_) {
    if (range.first > base.hot_pages_.size() ||
        range.count > base.hot_pages_.size() - range.first) {
      return Malformed("a hot page lies outside the memory");
    }
    std::memset(base.hot_pages_.data() + range.first, 1, range.count);
  }
  return base;
}

BaseFile::BaseFile(BaseFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      map_(std::exchange(other.map_, nullptr)),
      map_bytes_(other.map_bytes_),
      header_(other.header_),
      hot_(std::move(other.hot_)),
      hot_pages_(std::move(other.hot_pages_)) {}

BaseFile::~BaseFile() {
  if (map_ != nullptr) ::munmap(const_cast<std::uint8_t*>(map_), map_bytes_);
}

}  // namespace caisson::worker
