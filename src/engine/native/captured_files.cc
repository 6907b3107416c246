#include "engine/native/captured_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/session/cell_session.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxPathBytes = 4096;
// Files looked at. The file system of a cell has fewer inodes, unless somebody lies about it.
constexpr std::size_t kMaxEntries = 1u << 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

UniqueFd OpenBeneath(const UniqueFd& root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  // Non-blocking, or opening a FIFO would wait for its writer.
  how.flags = flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
}

Directory ListBeneath(const UniqueFd& root, const std::string& path) {
  const UniqueFd fd = OpenBeneath(root, path, O_DIRECTORY);
  const int copy = fd.is_open() ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1;
  if (copy < 0) return nullptr;
  DIR* directory = ::fdopendir(copy);
  if (directory == nullptr) ::close(copy);
  return Directory(directory);
}

// The paths of all regular files, as they are called below `root`.
std::vector<std::string> FindFiles(const UniqueFd& root) {
  std::vector<std::string> files;
  std::vector<std::string> directories{"output"};
  for (std::size_t seen = 0; !directories.empty();) {
    const std::string path = std::move(directories.back());
    directories.pop_back();
    const Directory directory = ListBeneath(root, path);
    if (directory == nullptr) continue;
    while (const dirent* entry = ::readdir(directory.get())) {
      if (++seen > kMaxEntries) return files;
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || path.size() + 1 + name.size() > kMaxPathBytes) continue;
      if (entry->d_type == DT_DIR) directories.push_back(path + "/" + std::string(name));
      if (entry->d_type == DT_REG) files.push_back(path + "/" + std::string(name));
    }
  }
  std::ranges::sort(files);
  return files;
}

// The whole file, or nothing if it is not what it was said to be.
std::optional<std::string> ReadWhole(const UniqueFd& file, std::uint64_t size) {
  std::string contents;
  contents.resize(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = ::read(file.get(), contents.data() + at, size - at);
    if (n <= 0) return std::nullopt;
    at += static_cast<std::size_t>(n);
  }
  return contents;
}

}  // namespace

std::vector<OutcomeFile> CaptureFiles(const UniqueFd& root, const wire::StartHeader& start) {
  std::vector<OutcomeFile> captured;
  std::uint64_t total = 0;
  for (const std::string& path : FindFiles(root)) {
    const UniqueFd file = OpenBeneath(root, path, 0);
    struct stat status{};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    std::optional<std::string> contents;
    if (captured.size() < start.files && size <= start.file_bytes &&
        size <= start.total_file_bytes - total) {
      contents = ReadWhole(file, size);
    }
    if (contents) total += size;
    captured.push_back({.path = "/" + path,
                        .change = "created",
                        .size = size,
                        .contents = contents.value_or(""),
                        .omitted = contents ? "" : std::string(kFileOmitted)});
    if (captured.size() > start.files) break;
  }
  return captured;
}

}  // namespace caisson
