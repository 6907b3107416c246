#include "jail/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

namespace caisson::jail {
namespace {

constexpr unsigned long kNoSymfollow = 256;  // MS_NOSYMFOLLOW, Linux 5.10.
constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
// Options for extended attributes that a user namespace may set (Linux 5.11; on tmpfs, Linux 6.6).
constexpr const char* kOverlayOptions = ",userxattr";

class Attacher {
 public:
  explicit Attacher(std::string scratch)
      : scratch_(std::move(scratch)), root_(scratch_ + "/root") {}

  Result<std::vector<UniqueFd>> Attach(std::span<const Attachment> attachments) {
    TRY(MakeRoot());
    TRY(MakeDirectory(scratch_ + "/empty"));
    std::vector<UniqueFd> layers;
    for (const Attachment& attachment : attachments) {
      if (auto attached = AttachOne(attachment, layers); !attached) {
        return std::move(attached).error().Context("show " + attachment.path);
      }
    }
    TRY(EnterRoot());
    return layers;
  }

 private:
  static Result<void> MakeDirectory(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
    return Error::FromErrno(errno, "make " + path);
  }

  static Result<void> MountTmpfs(const std::string& at, std::uint64_t bytes, std::uint64_t inodes) {
    TRY(MakeDirectory(at));
    const std::string options =
        "mode=0755,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(inodes);
    if (::mount("none", at.c_str(), "tmpfs", kFlags, options.c_str()) == 0) return {};
    return Error::FromErrno(errno, "mount " + at);
  }

  // Makes a root that has space for further mount points and contains everything from the old one.
  Result<void> MakeRoot() {
    TRY(MountTmpfs(root_, 64 << 10, 1024));
    const std::unique_ptr<DIR, int (*)(DIR*)> old(::opendir("/"), &::closedir);
    if (!old) return Error::FromErrno(errno, "list the root");
    while (const dirent* entry = ::readdir(old.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && "/" + name != scratch_) TRY(Carry("/" + name));
    }
    return {};
  }

  Result<void> Carry(const std::string& path) const {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return Error::FromErrno(errno, "look at " + path);
    const std::string copy = root_ + path;
    if (S_ISLNK(info.st_mode)) {
      std::array<char, 256> target{};
      if (::readlink(path.c_str(), target.data(), target.size() - 1) < 0 ||
          ::symlink(target.data(), copy.c_str()) != 0) {
        return Error::FromErrno(errno, "copy " + path);
      }
      return {};
    }
    if (!S_ISDIR(info.st_mode)) return {};
    TRY(MakeDirectory(copy));
    if (::mount(path.c_str(), copy.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      return Error::FromErrno(errno, "carry over " + path);
    }
    return {};
  }

  Result<void> AttachOne(const Attachment& attachment, std::vector<UniqueFd>& layers) {
    const std::string number = std::to_string(next_++);
    const std::string lower = scratch_ + "/lower" + number;
    TRY(MakeDirectory(lower));
    if (::move_mount(attachment.tree.get(), "", AT_FDCWD, lower.c_str(), MOVE_MOUNT_F_EMPTY_PATH) !=
        0) {
      return Error::FromErrno(errno, "attach the tree");
    }
    TRY(MakePoint(attachment.path));
    if (!attachment.writable) {
      return MountOverlay(attachment.path, MS_RDONLY,
                          "lowerdir=" + lower + ":" + scratch_ + "/empty");
    }
    const std::string layer = scratch_ + "/layer" + number;
    TRY(MountTmpfs(layer, attachment.layer_bytes, attachment.layer_inodes));
    TRY(MakeDirectory(layer + "/upper"));
    TRY(MakeDirectory(layer + "/work"));
    TRY(MountOverlay(
        attachment.path, 0,
        "lowerdir=" + lower + ",upperdir=" + layer + "/upper,workdir=" + layer + "/work"));
    layers.emplace_back(::open((layer + "/upper").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!layers.back().is_open()) return Error::FromErrno(errno, "open the layer");
    return {};
  }

  Result<void> MakePoint(const std::string& path) const {
    for (std::size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1)) {
      TRY(MakeDirectory(root_ + path.substr(0, end)));
    }
    return MakeDirectory(root_ + path);
  }

  Result<void> MountOverlay(const std::string& path, unsigned long flags,
                            const std::string& layers) const {
    if (::mount("overlay", (root_ + path).c_str(), "overlay", kFlags | kNoSymfollow | flags,
                (layers + kOverlayOptions).c_str()) == 0) {
      return {};
    }
    Error error = Error::FromErrno(errno, "mount an overlay");
    return Error(ErrorCode::kFailedPrecondition,
                 error.message() + "; it needs Linux 6.6 with overlayfs (`caisson doctor` tells)");
  }

  Result<void> EnterRoot() const {
    if (::mount(nullptr, root_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY | kFlags, nullptr) != 0) {
      return Error::FromErrno(errno, "make the root read-only");
    }
    // Both roots are then mounted on "/", the old one on top. The working directory is still the
    // new one.
    if (::chdir(root_.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
        ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
      return Error::FromErrno(errno, "enter the root with the mounts");
    }
    return {};
  }

  const std::string scratch_;
  const std::string root_;
  int next_ = 0;
};

}  // namespace

const char* TryOverlay() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "private mounts";
  if (::mount("none", "/proc", "tmpfs", kFlags, "size=64k,nr_inodes=16,mode=0755") != 0) {
    return "mount a tmpfs";
  }
  for (const char* path : {"/proc/lower", "/proc/upper", "/proc/work"}) {
    if (::mkdir(path, 0755) != 0) return "make a directory";
  }
  if (::mount("overlay", "/proc/lower", "overlay", kFlags | kNoSymfollow,
              "lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work,userxattr") != 0) {
    return "mount an overlay";
  }
  // An overlay uses this attribute to distinguish a newly made directory from the one below it.
  if (::setxattr("/proc/upper", "user.overlay.test", "y", 1, 0) != 0) return "note something";
  return nullptr;
}

Result<std::vector<UniqueFd>> AttachTrees(std::span<const Attachment> attachments,
                                          const std::string& scratch) {
  return Attacher(scratch).Attach(attachments);
}

}  // namespace caisson::jail
