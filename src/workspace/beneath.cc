#include "workspace/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/utf8.h"

namespace caisson::workspace {
namespace {

using wire::FileError;

constexpr std::size_t kMaxPathBytes = 4095;
constexpr std::size_t kMaxNameBytes = 255;

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find('\0') == name.npos && IsUtf8(name);
}

FileError ErrorOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:  // A link is treated as missing.
      return FileError::kGone;
    case EACCES:
    case EPERM:
    case EXDEV:
      return FileError::kDenied;
    default:
      return FileError::kFailed;
  }
}

std::uint64_t Nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Opens regular files only, because opening a device can have an effect.
std::expected<UniqueFd, FileError> OpenRegular(const UniqueFd& directory, const std::string& path,
                                               struct ::stat& stat) {
  const UniqueFd looked = OpenBeneath(directory, path, O_PATH);
  if (!looked.is_open()) return std::unexpected(ErrorOf(errno));
  if (::fstat(looked.get(), &stat) != 0) return std::unexpected(FileError::kFailed);
  if (!S_ISREG(stat.st_mode)) return std::unexpected(FileError::kGone);
  UniqueFd file = OpenBeneath(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) return std::unexpected(ErrorOf(errno));
  // Another file may be there by now.
  if (::fstat(file.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) {
    return std::unexpected(FileError::kGone);
  }
  return file;
}

}  // namespace

bool IsPlainPath(std::string_view path) {
  if (path.empty()) return true;
  if (path.size() > kMaxPathBytes) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    if (!IsPlainName(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

UniqueFd OpenBeneath(const UniqueFd& directory, const std::string& path, int flags,
                     std::uint64_t mode) {
  ::open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const char* name = path.empty() ? "." : path.c_str();
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), name, &how, sizeof how)));
}

wire::FileVersion VersionOf(const struct ::stat& stat) {
  return {.inode = stat.st_ino,
          .size = S_ISREG(stat.st_mode) ? static_cast<std::uint64_t>(stat.st_size) : 0,
          .modified_ns = Nanoseconds(stat.st_mtim)};
}

std::expected<std::vector<HostEntry>, FileError> ListBeneath(const UniqueFd& directory,
                                                             const std::string& path) {
  if (!IsPlainPath(path)) return std::unexpected(FileError::kGone);
  UniqueFd opened = OpenBeneath(directory, path, O_RDONLY | O_DIRECTORY);
  if (!opened.is_open()) return std::unexpected(ErrorOf(errno));
  const std::unique_ptr<DIR, decltype(&::closedir)> stream(::fdopendir(::dup(opened.get())),
                                                           &::closedir);
  if (stream == nullptr) return std::unexpected(FileError::kFailed);
  std::vector<HostEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    struct ::stat stat{};
    const bool shown = IsPlainName(name) && !(path.empty() && name.starts_with(kReservedPrefix)) &&
                       ::fstatat(opened.get(), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
                       (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode));
    if (shown) {
      if (entries.size() == wire::kMaxListed) return std::unexpected(FileError::kTooMany);
      entries.push_back({.name = std::string(name),
                         .directory = S_ISDIR(stat.st_mode),
                         .version = VersionOf(stat)});
    }
    errno = 0;
  }
  if (errno != 0) return std::unexpected(FileError::kFailed);
  std::ranges::sort(entries, {}, &HostEntry::name);
  return entries;
}

std::expected<std::string, FileError> ReadBeneath(const UniqueFd& directory,
                                                  const HostRange& range) {
  if (!IsPlainPath(range.path)) return std::unexpected(FileError::kGone);
  if (range.offset > INT64_MAX - range.length) return std::unexpected(FileError::kFailed);
  struct ::stat stat{};
  const auto file = OpenRegular(directory, range.path, stat);
  if (!file) return std::unexpected(file.error());
  const wire::FileVersion version = VersionOf(stat);
  if (range.exact ? version != range.version : version.inode != range.version.inode) {
    return std::unexpected(FileError::kChanged);
  }
  std::string bytes(range.length, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(file->get(), bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(range.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(FileError::kFailed);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  // It was written to while it was read, so the bytes may be neither the old nor the new contents.
  if (range.exact && (done < range.length || ::fstat(file->get(), &stat) != 0 ||
                      VersionOf(stat) != range.version)) {
    return std::unexpected(FileError::kChanged);
  }
  return bytes;
}

}  // namespace caisson::workspace
