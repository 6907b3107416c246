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

#include "base/unique_fd.h"
#include "jail/walls.h"

namespace caisson::jail {
namespace {

// Any directory works; this one exists wherever Spawn() could write the id maps.
constexpr const char* kMountPoint = "/proc";
constexpr unsigned long kPrivateFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
constexpr unsigned long kFlags = kPrivateFlags | MS_RDONLY;

// Otherwise our mounts would also appear in the host's namespace.
const char* MakePrivate() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return "make the mounts private";
  }
  return nullptr;
}

// Makes the file system mounted on kMountPoint the root.
const char* Pivot() {
  if (::chdir(kMountPoint) != 0) return "enter the new root";
  // Both roots are then mounted on "/", the old one on top. The working directory is still the new
  // one.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return "pivot_root";
  if (::umount2(".", MNT_DETACH) != 0) return "detach the old root";
  if (::chdir("/") != 0) return "go to the new root";
  return nullptr;
}

// Fills the future root, seen as a directory, from the current root.
class RootBuilder {
 public:
  explicit RootBuilder(UniqueFd root) : root_(std::move(root)) {}

  Result<void> Fill(const RootPlan& plan) {
    for (const std::string& path : plan.directories) TRY(MakeDirectory(path));
    for (const std::string& path : plan.binds) TRY(Bind(path, MOUNT_ATTR_NODEV));
    for (const std::string& path : plan.devices) TRY(Bind(path, MOUNT_ATTR_NOEXEC));
    for (const RootPlan::File& file : plan.files) TRY(MakeFile(file.path, file.text));
    for (const RootPlan::Link& link : plan.links) {
      TRY(MakeParents(link.path));
      if (::symlinkat(link.target.c_str(), root_.get(), Inside(link.path)) != 0) {
        return Error::FromErrno(errno, "link " + link.path);
      }
    }
    return {};
  }

 private:
  static const char* Inside(const std::string& path) { return path.c_str() + 1; }

  Result<void> MakeParents(const std::string& path) {
    for (std::size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1)) {
      TRY(MakeOne(path.substr(0, end)));
    }
    return {};
  }

  Result<void> MakeOne(const std::string& path) {
    if (::mkdirat(root_.get(), Inside(path), 0755) != 0 && errno != EEXIST && errno != EROFS) {
      return Error::FromErrno(errno, "make " + path + " in the new root");
    }
    return {};
  }

  Result<void> MakeDirectory(const std::string& path) {
    TRY(MakeParents(path));
    return MakeOne(path);
  }

  Result<void> MakeFile(const std::string& path, const std::string& text) {
    TRY(MakeParents(path));
    UniqueFd file(::openat(root_.get(), Inside(path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!file.is_open() ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      return Error::FromErrno(errno, "write " + path + " in the new root");
    }
    return {};
  }

  // Includes all mounts below the path: the kernel refuses to leave them out if a user namespace
  // must not see what such a mount hides.
  Result<void> Bind(const std::string& path, std::uint64_t refused) {
    UniqueFd tree(
        ::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (!tree.is_open()) {
      if (errno == ENOENT) return {};
      return Error::FromErrno(errno, "bind " + path);
    }
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | refused;
    if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                        sizeof attributes) != 0) {
      return Error::FromErrno(errno, "make " + path + " read-only");
    }
    struct stat info{};
    if (::fstat(tree.get(), &info) != 0) return Error::FromErrno(errno, "look at " + path);
    TRY(S_ISDIR(info.st_mode) ? MakeDirectory(path) : MakeFile(path, ""));
    if (::move_mount(tree.get(), "", root_.get(), Inside(path), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      return Error::FromErrno(errno, "mount " + path);
    }
    return {};
  }

  const UniqueFd root_;
};

}  // namespace

const char* SwapRoot() {
  if (const char* failed = MakePrivate()) return failed;
  if (::mount("none", kMountPoint, "tmpfs", kFlags, "size=4k,nr_inodes=1,mode=0555") != 0) {
    return "mount the empty root";
  }
  return Pivot();
}

Result<void> SwapRoot(const RootPlan& plan) {
  TRY(FromStep(MakePrivate()));
  // Space for the files of the plan, and for files that libraries write while they are imported.
  if (::mount("none", kMountPoint, "tmpfs", kPrivateFlags, "size=64m,nr_inodes=4k,mode=0755") !=
      0) {
    return Error::FromErrno(errno, "mount the new root");
  }
  UniqueFd root(::open(kMountPoint, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return Error::FromErrno(errno, "open the new root");
  TRY(RootBuilder(std::move(root)).Fill(plan));
  return FromStep(Pivot());
}

Result<void> SealRoot() {
  if (::mount(nullptr, "/", nullptr, MS_REMOUNT | kFlags, nullptr) != 0) {
    return Error::FromErrno(errno, "make the root read-only");
  }
  if (::mkdir("/x", 0700) == 0 || errno != EROFS) {
    return Error(ErrorCode::kInternal, "the new root is not read-only");
  }
  return {};
}

Result<void> MountPrivateFiles(const PrivateFiles& files, std::uint64_t bytes,
                               std::uint64_t inodes) {
  const std::string options =
      "mode=0755,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(inodes);
  const char* at = files.mount_point.c_str();
  if (::mount("none", at, "tmpfs", kPrivateFlags, options.c_str()) != 0) {
    return Error::FromErrno(errno, "mount the private files");
  }
  for (const std::string& name : files.directories) {
    const std::string path = files.mount_point + "/" + name;
    if (::mkdir(path.c_str(), 0700) != 0) return Error::FromErrno(errno, "make " + path);
    if (::mount(path.c_str(), ("/" + name).c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return Error::FromErrno(errno, "mount /" + name);
    }
  }
  return {};
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
