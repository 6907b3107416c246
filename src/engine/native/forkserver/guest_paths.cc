#include "engine/native/forkserver/guest_paths.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/sanitized.h"

namespace caisson::forkserver {
namespace {

// With a sanitizer some of these functions have no caller: see below.

// Never destroyed: code runs until the process is gone.
std::vector<GuestPath>* g_paths = nullptr;

// Where the kernel must look.
struct Place {
  int directory;
  const char* path;
};

Place Find(int directory, const char* path) {
  if (g_paths == nullptr || path == nullptr || path[0] != '/') return {directory, path};
  const std::string_view text = path;
  for (const GuestPath& shown : *g_paths) {
    if (!text.starts_with(shown.guest)) continue;
    const char* rest = path + shown.guest.size();
    if (*rest != '\0' && *rest != '/') continue;
    while (*rest == '/') ++rest;
    return {shown.directory, *rest == '\0' ? "." : rest};
  }
  return {directory, path};
}

template <typename... Arguments>
long Call(long number, Arguments... arguments) {
  return ::syscall(number, arguments...);
}

// Translates the host's path of a file back to its guest path, such as "/output/a". Returns false
// if it is not below a guest path, or too long.
[[maybe_unused]] bool TranslateBack(const char* host, char* out, std::size_t size) {
  if (g_paths == nullptr) return false;
  const std::string_view text = host;
  for (const GuestPath& shown : *g_paths) {
    if (!text.starts_with(shown.host)) continue;
    const std::string_view rest = text.substr(shown.host.size());
    if (!rest.empty() && rest.front() != '/') continue;
    if (shown.guest.size() + rest.size() + 1 > size) return false;
    std::memcpy(out, shown.guest.data(), shown.guest.size());
    std::memcpy(out + shown.guest.size(), rest.data(), rest.size());
    out[shown.guest.size() + rest.size()] = '\0';
    return true;
  }
  return false;
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_openat, place.directory, place.path, flags, mode));
}

[[maybe_unused]] int StatAt(int directory, const char* path, struct stat* out, int flags) {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_newfstatat, place.directory, place.path, out, flags));
}

// As in fopen(3).
int FlagsOf(const char* mode) {
  int flags = std::strchr(mode, '+') != nullptr ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (std::strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  if (std::strchr(mode, 'e') != nullptr) flags |= O_CLOEXEC;
  return flags;
}

[[maybe_unused]] FILE* OpenStream(const char* path, const char* mode) {
  const int fd = OpenAt(AT_FDCWD, path, FlagsOf(mode), 0666);
  if (fd < 0) return nullptr;
  FILE* const stream = ::fdopen(fd, mode);
  if (stream == nullptr) ::close(fd);
  return stream;
}

constexpr std::string_view kUser{"user\0x\0\0/tmp\0/nonexistent", 26};

// As getpwuid_r(3): returns the only user, or none.
[[maybe_unused]] int FillUser(bool exists, struct passwd* entry, char* buffer, std::size_t size,
                              struct passwd** result) {
  *result = nullptr;
  if (!exists) return 0;
  if (size < kUser.size() + 1) return ERANGE;
  std::memcpy(buffer, kUser.data(), kUser.size());
  buffer[kUser.size()] = '\0';
  *entry = {.pw_name = buffer,
            .pw_passwd = buffer + 5,
            .pw_uid = ::getuid(),
            .pw_gid = ::getgid(),
            .pw_gecos = buffer + 7,
            .pw_dir = buffer + 8,
            .pw_shell = buffer + 13};
  *result = entry;
  return 0;
}

[[maybe_unused]] mode_t ModeOf(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

void ShowPaths(std::vector<GuestPath> paths) {
  g_paths = new std::vector<GuestPath>(std::move(paths));
}

}  // namespace caisson::forkserver

// The sanitizers define these functions themselves; with them, code sees the host's paths.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

using namespace caisson::
    forkserver;  // NOLINT(google-build-using-namespace): definitions of C only.

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wreserved-identifier"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names.
extern "C" {

#define DEFINE_OPEN(name)                         \
  int name(const char* path, int flags, ...) {    \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    const mode_t mode = ModeOf(flags, arguments); \
    va_end(arguments);                            \
    return OpenAt(AT_FDCWD, path, flags, mode);   \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
#undef DEFINE_OPEN

#define DEFINE_OPENAT(name)                                   \
  int name(int directory, const char* path, int flags, ...) { \
    va_list arguments;                                        \
    va_start(arguments, flags);                               \
    const mode_t mode = ModeOf(flags, arguments);             \
    va_end(arguments);                                        \
    return OpenAt(directory, path, flags, mode);              \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
#undef DEFINE_OPENAT

int __open_2(const char* path, int flags) {
  return OpenAt(AT_FDCWD, path, flags, 0);
}
int __open64_2(const char* path, int flags) {
  return OpenAt(AT_FDCWD, path, flags, 0);
}
int __openat_2(int directory, const char* path, int flags) {
  return OpenAt(directory, path, flags, 0);
}
int __openat64_2(int directory, const char* path, int flags) {
  return OpenAt(directory, path, flags, 0);
}
int creat(const char* path, mode_t mode) {
  return OpenAt(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
int creat64(const char* path, mode_t mode) {
  return creat(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
  return OpenStream(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return OpenStream(path, mode);
}
DIR* opendir(const char* path) {
  const int fd = OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  DIR* const directory = ::fdopendir(fd);
  if (directory == nullptr) ::close(fd);
  return directory;
}

// On this architecture the types of 32 and 64 bits are the same.
int stat(const char* path, struct stat* out) noexcept {
  return StatAt(AT_FDCWD, path, out, 0);
}
int stat64(const char* path, struct stat64* out) noexcept {
  return StatAt(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), 0);
}
int lstat(const char* path, struct stat* out) noexcept {
  return StatAt(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int lstat64(const char* path, struct stat64* out) noexcept {
  return StatAt(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), AT_SYMLINK_NOFOLLOW);
}
int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  return StatAt(directory, path, out, flags);
}
int fstatat64(int directory, const char* path, struct stat64* out, int flags) noexcept {
  return StatAt(directory, path, reinterpret_cast<struct stat*>(out), flags);
}
int __xstat(int, const char* path, struct stat* out) {
  return StatAt(AT_FDCWD, path, out, 0);
}
int __xstat64(int, const char* path, struct stat64* out) {
  return StatAt(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), 0);
}
int __lxstat(int, const char* path, struct stat* out) {
  return StatAt(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int __lxstat64(int, const char* path, struct stat64* out) {
  return StatAt(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), AT_SYMLINK_NOFOLLOW);
}
int statx(int directory, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_statx, place.directory, place.path, flags, mask, out));
}
int access(const char* path, int mode) noexcept {
  const Place place = Find(AT_FDCWD, path);
  return static_cast<int>(Call(SYS_faccessat, place.directory, place.path, mode));
}
int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_faccessat2, place.directory, place.path, mode, flags));
}
int statfs(const char* path, struct statfs* out) noexcept {
  const int fd = OpenAt(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int result = ::fstatfs(fd, out);
  ::close(fd);
  return result;
}
int statfs64(const char* path, struct statfs64* out) noexcept {
  return statfs(path, reinterpret_cast<struct statfs*>(out));
}
int statvfs(const char* path, struct statvfs* out) noexcept {
  const int fd = OpenAt(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int result = ::fstatvfs(fd, out);
  ::close(fd);
  return result;
}
int statvfs64(const char* path, struct statvfs64* out) noexcept {
  return statvfs(path, reinterpret_cast<struct statvfs*>(out));
}

int chdir(const char* path) noexcept {
  const Place place = Find(AT_FDCWD, path);
  if (place.directory == AT_FDCWD) return static_cast<int>(Call(SYS_chdir, place.path));
  const int fd = OpenAt(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int result = ::fchdir(fd);
  ::close(fd);
  return result;
}
char* getcwd(char* buffer, std::size_t size) noexcept {
  std::array<char, PATH_MAX> host{};
  std::array<char, PATH_MAX> guest{};
  const long length = Call(SYS_getcwd, host.data(), host.size());
  if (length < 0) return nullptr;
  const bool is_ours = TranslateBack(host.data(), guest.data(), guest.size());
  const char* const found = is_ours ? guest.data() : host.data();
  const std::size_t needed = std::strlen(found) + 1;
  if (buffer == nullptr) {
    buffer = static_cast<char*>(::malloc(size == 0 ? needed : std::max(size, needed)));
    if (buffer == nullptr) return nullptr;
  } else if (size < needed) {
    errno = size == 0 ? EINVAL : ERANGE;
    return nullptr;
  }
  std::memcpy(buffer, found, needed);
  return buffer;
}
char* __getcwd_chk(char* buffer, std::size_t size, std::size_t room) {
  if (size > room) ::abort();
  return getcwd(buffer, size);
}

int mkdir(const char* path, mode_t mode) noexcept {
  const Place place = Find(AT_FDCWD, path);
  return static_cast<int>(Call(SYS_mkdirat, place.directory, place.path, mode));
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_mkdirat, place.directory, place.path, mode));
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_unlinkat, place.directory, place.path, flags));
}
int unlink(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, 0);
}
int rmdir(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  const int result = unlink(path);
  return result == 0 || errno != EISDIR ? result : rmdir(path);
}
int renameat2(int from, const char* old_path, int to, const char* new_path,
              unsigned flags) noexcept {
  const Place old_place = Find(from, old_path);
  const Place new_place = Find(to, new_path);
  return static_cast<int>(Call(SYS_renameat2, old_place.directory, old_place.path,
                               new_place.directory, new_place.path, flags));
}
int renameat(int from, const char* old_path, int to, const char* new_path) noexcept {
  return renameat2(from, old_path, to, new_path, 0);
}
int rename(const char* old_path, const char* new_path) noexcept {
  return renameat2(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}
int linkat(int from, const char* old_path, int to, const char* new_path, int flags) noexcept {
  const Place old_place = Find(from, old_path);
  const Place new_place = Find(to, new_path);
  return static_cast<int>(Call(SYS_linkat, old_place.directory, old_place.path, new_place.directory,
                               new_place.path, flags));
}
int link(const char* old_path, const char* new_path) noexcept {
  return linkat(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}
int symlinkat(const char* target, int directory, const char* path) noexcept {
  const Place place = Find(directory, path);
  return static_cast<int>(Call(SYS_symlinkat, target, place.directory, place.path));
}
int symlink(const char* target, const char* path) noexcept {
  return symlinkat(target, AT_FDCWD, path);
}
ssize_t readlinkat(int directory, const char* path, char* out, std::size_t size) noexcept {
  const Place place = Find(directory, path);
  return Call(SYS_readlinkat, place.directory, place.path, out, size);
}
ssize_t readlink(const char* path, char* out, std::size_t size) noexcept {
  return readlinkat(AT_FDCWD, path, out, size);
}
ssize_t __readlink_chk(const char* path, char* out, std::size_t size, std::size_t room) {
  if (size > room) ::abort();
  return readlinkat(AT_FDCWD, path, out, size);
}
ssize_t __readlinkat_chk(int directory, const char* path, char* out, std::size_t size,
                         std::size_t room) {
  if (size > room) ::abort();
  return readlinkat(directory, path, out, size);
}
int truncate(const char* path, off_t length) noexcept {
  const int fd = OpenAt(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int result = ::ftruncate(fd, length);
  ::close(fd);
  return result;
}
int truncate64(const char* path, off64_t length) noexcept {
  return truncate(path, length);
}

// Landlock prevents code from reading the host's /etc/passwd. It sees the same user that tier
// namespace has a file for.
int getpwuid_r(uid_t uid, struct passwd* entry, char* buffer, std::size_t size,
               struct passwd** result) {
  static const auto real =
      reinterpret_cast<decltype(&getpwuid_r)>(::dlsym(RTLD_NEXT, "getpwuid_r"));
  if (g_paths == nullptr) return real(uid, entry, buffer, size, result);
  return FillUser(uid == ::getuid(), entry, buffer, size, result);
}
int getpwnam_r(const char* name, struct passwd* entry, char* buffer, std::size_t size,
               struct passwd** result) {
  static const auto real =
      reinterpret_cast<decltype(&getpwnam_r)>(::dlsym(RTLD_NEXT, "getpwnam_r"));
  if (g_paths == nullptr) return real(name, entry, buffer, size, result);
  return FillUser(std::strcmp(name, kUser.data()) == 0, entry, buffer, size, result);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
#pragma clang diagnostic pop
#endif
