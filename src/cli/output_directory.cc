#include "cli/output_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

namespace caisson::cli {
namespace {

constexpr std::string_view kGuestRoot = "/output/";
constexpr ::mode_t kDirectoryMode = 0777;  // The user's umask decides.
constexpr ::mode_t kFileMode = 0666;

UniqueFd OpenBeneath(const UniqueFd& directory, const std::string& name, std::uint64_t flags,
                     std::uint64_t mode) {
  ::open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), name.c_str(), &how, sizeof how)));
}

Error BadPath(std::string_view path) {
  return Error(ErrorCode::kInvalidArgument,
               "a file is not saved because its path is not below /output: " + std::string(path));
}

Result<std::vector<std::string>> Parts(std::string_view path) {
  if (!path.starts_with(kGuestRoot) || path.find('\0') != path.npos) return BadPath(path);
  std::vector<std::string> parts;
  for (std::string_view rest = path.substr(kGuestRoot.size());;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return BadPath(path);
    parts.emplace_back(part);
    if (slash == rest.npos) return parts;
    rest.remove_prefix(slash + 1);
  }
}

Result<UniqueFd> EnterDirectory(const UniqueFd& directory, const std::string& name) {
  if (::mkdirat(directory.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Error::FromErrno(errno, "make directory " + name);
  }
  UniqueFd entered = OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY, 0);
  if (!entered.is_open()) return Error::FromErrno(errno, "open directory " + name);
  return entered;
}

std::string TemporaryName() {
  std::random_device chance;
  return ".caisson-" + std::to_string(chance()) + std::to_string(chance());
}

Result<void> WriteAll(const UniqueFd& file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t n = ::write(file.get(), contents.data(), contents.size());
    if (n >= 0) {
      contents.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return Error::FromErrno(errno, "write");
    }
  }
  return {};
}

// Writes a new file under another name and renames it. rename replaces a link and does not follow
// it.
Result<void> WriteFile(const UniqueFd& directory, const std::string& name,
                       std::string_view contents) {
  const std::string temporary = TemporaryName();
  const UniqueFd file = OpenBeneath(directory, temporary, O_WRONLY | O_CREAT | O_EXCL, kFileMode);
  if (!file.is_open()) return Error::FromErrno(errno, "create a file");
  auto written = WriteAll(file, contents);
  if (written &&
      ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) {
    written = Error::FromErrno(errno, "put it in place");
  }
  if (!written) ::unlinkat(directory.get(), temporary.c_str(), 0);
  return written;
}

Result<void> SaveParts(const UniqueFd& root, const std::vector<std::string>& parts,
                       std::string_view contents) {
  std::optional<UniqueFd> inner;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    TRY_ASSIGN(inner, EnterDirectory(inner ? *inner : root, parts[i]));
  }
  return WriteFile(inner ? *inner : root, parts.back(), contents);
}

}  // namespace

Result<OutputDirectory> OutputDirectory::Open(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return Error::FromErrno(failed.value(), "cannot make directory " + path);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return Error::FromErrno(errno, "cannot open directory " + path);
  if (::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return Error::FromErrno(errno, "cannot write to directory " + path);
  }
  return OutputDirectory(std::move(fd));
}

Result<void> OutputDirectory::Save(std::string_view path, std::string_view contents) const {
  TRY_ASSIGN(const std::vector<std::string> parts, Parts(path));
  auto saved = SaveParts(fd_, parts, contents);
  if (!saved) return std::move(saved).error().Context("cannot save " + std::string(path));
  return {};
}

}  // namespace caisson::cli
