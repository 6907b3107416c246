#include "jail/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace caisson::jail {
namespace {

// Any directory will do; this one exists wherever Spawn() could write the id maps.
constexpr const char* kMountPoint = "/proc";
constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

}  // namespace

const char* SwapRoot() {
  // Otherwise the mounts below would appear in the host's namespace too.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return "make the mounts private";
  }
  if (::mount("none", kMountPoint, "tmpfs", kFlags, "size=4k,nr_inodes=1,mode=0555") != 0) {
    return "mount the empty root";
  }
  if (::chdir(kMountPoint) != 0) return "enter the empty root";
  // Both roots end up on "/", the old one above; the working directory is still the new one.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return "pivot_root";
  if (::umount2(".", MNT_DETACH) != 0) return "detach the old root";
  if (::chdir("/") != 0) return "enter the new root";
  return nullptr;
}

Result<void> VerifyEmptyRoot() {
  std::unique_ptr<DIR, int (*)(DIR*)> root(::opendir("/"), &::closedir);
  if (!root) return Error::FromErrno(errno, "list the new root");
  while (const dirent* entry = ::readdir(root.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
      return Error(ErrorCode::kInternal, std::string("the new root holds ") + entry->d_name);
    }
  }
  if (::mkdir("/x", 0700) == 0 || errno != EROFS) {
    return Error(ErrorCode::kInternal, "the new root is not read-only");
  }
  return {};
}

}  // namespace caisson::jail
