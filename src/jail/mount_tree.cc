#include "jail/mount_tree.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/packet.h"
#include "jail/kernel_identity.h"
#include "jail/owners.h"

namespace caisson::jail {
namespace {

constexpr std::uint64_t kMountNoSymfollow = 0x00200000;  // MOUNT_ATTR_NOSYMFOLLOW, Linux 5.14.
constexpr std::uint64_t kTreeAttributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                          MOUNT_ATTR_NOEXEC | kMountNoSymfollow;

// Raw system calls only: also used in the child of a clone.
long CloneTree(int directory) {
  return ::syscall(SYS_open_tree, directory, "",
                   AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

long SetAttributes(int tree) {
  mount_attr attributes{};
  attributes.attr_set = kTreeAttributes;
  return ::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

// A child in its own namespaces. The destructor ends it.
class Helper {
 public:
  explicit Helper(pid_t pid) : pid_(pid) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

// A copy of a process that had threads: it uses neither the heap nor anything that locks.
long CloneSelf(std::uint64_t namespaces) {
  const long pid = ::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid == 0) ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  return pid;
}

// ---- Helpers that make a tree ----

// One packet: what failed, or 0 and the tree.
void Send(int socket, int error_number, std::span<const int> tree) {
  SendPacket(socket, {reinterpret_cast<const char*>(&error_number), sizeof error_number}, {}, tree);
}

Result<UniqueFd> Receive(const UniqueFd& socket, std::string_view doing) {
  std::array<char, sizeof(int)> buffer{};
  Packet packet = ReceivePacket(socket.get(), buffer);
  int error_number = 0;
  if (packet.bytes.size() != sizeof error_number) {
    return Error(ErrorCode::kInternal, "a helper process died");
  }
  std::memcpy(&error_number, buffer.data(), sizeof error_number);
  if (error_number != 0) return Error::FromErrno(error_number, doing);
  if (packet.descriptors.empty()) {
    return Error(ErrorCode::kInternal, "a helper process sent nothing");
  }
  return std::move(packet.descriptors[0]);
}

// Runs `run` in a copy of this process with namespaces of its own, and returns the tree that it
// sends. `run` gets the socket, calls the kernel only, and returns 0 or what failed.
template <typename Run>
Result<UniqueFd> InChild(std::uint64_t namespaces, std::string_view doing, const Run& run) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno(errno, "socket for a helper");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const long pid = CloneSelf(namespaces);
  if (pid == 0) {
    if (const int failed = run(theirs.get()); failed != 0) Send(theirs.get(), failed, {});
    ::syscall(SYS_exit_group, 0);
    __builtin_unreachable();
  }
  if (pid < 0) return Error::FromErrno(errno, "start a helper in namespaces of its own");
  const Helper helper(static_cast<pid_t>(pid));
  theirs = UniqueFd();
  return Receive(ours, doing);
}

// ---- With CAP_SYS_ADMIN ----

Result<void> WriteLine(const std::string& path, const std::string& line) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() ||
      ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Error::FromErrno(errno, "write " + path);
  }
  return {};
}

// A user namespace with one mapping: for this mount, the directory's owner is the jailed user.
Result<UniqueFd> OwnerAs(const struct stat& owner, const Ids& ids) {
  const long pid = CloneSelf(CLONE_NEWUSER);
  if (pid == 0) {
    while (true) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
  }
  if (pid < 0) return Error::FromErrno(errno, "make a user namespace");
  const Helper helper(static_cast<pid_t>(pid));
  const std::string proc = "/proc/" + std::to_string(pid);
  TRY(WriteLine(proc + "/uid_map",
                std::to_string(owner.st_uid) + " " + std::to_string(ids.host_uid) + " 1"));
  TRY(WriteLine(proc + "/gid_map",
                std::to_string(owner.st_gid) + " " + std::to_string(ids.host_gid) + " 1"));
  UniqueFd user_namespace(::open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!user_namespace.is_open()) return Error::FromErrno(errno, "open a user namespace");
  return user_namespace;
}

// Not every file system supports this. Where it does not, the directory's permissions for others
// apply.
void GiveToJailedUser(const UniqueFd& tree) {
  const Ids ids = ChooseIds();
  struct stat owner{};
  if (!ids.chosen || ::fstat(tree.get(), &owner) != 0) return;
  const Result<UniqueFd> user_namespace = OwnerAs(owner, ids);
  if (!user_namespace) return;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<std::uint64_t>(user_namespace->get());
  ::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

// ---- With files of several owners ----

// An id map gives each user one id, so it cannot give the files of several owners to the jailed
// user. An overlay does: its upper layer records the new owners, and with metacopy the data stays
// in the directory. Nothing of that is written to the directory itself.
constexpr const char* kOwnersMount = "/proc";  // Any directory, as in root.cc.
constexpr const char* kOwnersLayer = "size=64m,nr_inodes=40k,mode=0755";
constexpr const char* kOwnersOverlay =
    "lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work,metacopy=on";

// Runs in the child.
int MountOwners(int tree, int socket) {
  if (::syscall(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
      ::syscall(SYS_mount, "none", kOwnersMount, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                kOwnersLayer) < 0) {
    return errno;
  }
  for (const char* path : {"/proc/lower", "/proc/upper", "/proc/work", "/proc/merged"}) {
    if (::syscall(SYS_mkdirat, AT_FDCWD, path, 0755) < 0) return errno;
  }
  if (::syscall(SYS_move_mount, tree, "", AT_FDCWD, "/proc/lower", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
      ::syscall(SYS_mount, "overlay", "/proc/merged", "overlay", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                kOwnersOverlay) < 0) {
    return errno;
  }
  const long merged =
      ::syscall(SYS_open_tree, AT_FDCWD, "/proc/merged", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (merged < 0) return errno;
  const int sent = static_cast<int>(merged);
  Send(socket, 0, {&sent, 1});
  return 0;
}

Result<UniqueFd> GiveByOverlay(const UniqueFd& tree, const Ids& ids) {
  auto merged = InChild(CLONE_NEWNS, "show them as the cell's own",
                        [&tree](int socket) { return MountOwners(tree.get(), socket); });
  if (!merged) {
    return std::move(merged).error().Context(
        "some of its files belong to other users than the directory; let one user own all of it, "
        "or mount it ro");
  }
  TRY(GiveAll(*merged, ids));
  return merged;
}

// ---- Without CAP_SYS_ADMIN ----

// The task of the helper; everything is prepared beforehand.
struct Errand {
  std::string path;
  struct stat expected{};
};

// Runs in the child. Its mount namespace is a copy of ours with different mounts, so the directory
// has to be found again by its name, and must be the same one.
int Run(const Errand& errand, int socket) {
  const long directory =
      ::syscall(SYS_openat, AT_FDCWD, errand.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
  if (directory < 0) return errno;
  struct stat found{};
  if (::syscall(SYS_newfstatat, directory, "", &found, AT_EMPTY_PATH) < 0) return errno;
  if (found.st_dev != errand.expected.st_dev || found.st_ino != errand.expected.st_ino) {
    return ESTALE;
  }
  const long tree = CloneTree(static_cast<int>(directory));
  if (tree < 0 || SetAttributes(static_cast<int>(tree)) < 0) return errno;
  const int sent = static_cast<int>(tree);
  Send(socket, 0, {&sent, 1});
  return 0;
}

Result<std::string> NameOf(const UniqueFd& directory) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(directory.get())).c_str(),
                                  path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) {
    return Error::FromErrno(errno, "find a directory's name");
  }
  return std::string(path.data(), static_cast<std::size_t>(size));
}

Result<UniqueFd> DetachInChild(const UniqueFd& directory) {
  Errand errand;
  TRY_ASSIGN(errand.path, NameOf(directory));
  if (::fstat(directory.get(), &errand.expected) != 0) {
    return Error::FromErrno(errno, "look at " + errand.path);
  }
  return InChild(CLONE_NEWUSER | CLONE_NEWNS, "clone its mount",
                 [&errand](int socket) { return Run(errand, socket); });
}

// Where owners cannot be mapped. The mode counts for the owner only when something is written.
Result<void> RequireWritable(const UniqueFd& tree, const Ids& ids) {
  struct stat owner{};
  if (::fstat(tree.get(), &owner) != 0) return Error::FromErrno(errno, "look at its owner");
  const bool writable = owner.st_uid == ids.host_uid || (owner.st_mode & S_IWOTH) != 0;
  if (writable) return {};
  return Error(ErrorCode::kFailedPrecondition,
               "code runs as user " + std::to_string(ids.host_uid) +
                   " here, who cannot write to a directory of user " +
                   std::to_string(owner.st_uid) +
                   "; run caisson as an ordinary user who owns it, or with CAP_SYS_ADMIN, or make "
                   "the directory writable for everybody, or mount it ro, or use engine wasm");
}

}  // namespace

Result<UniqueFd> DetachTree(const UniqueFd& directory, TreeUse use) {
  const Ids ids = ChooseIds();
  const bool must_give = ids.chosen && use == TreeUse::kWrite;
  UniqueFd tree(static_cast<int>(CloneTree(directory.get())));
  if (!tree.is_open()) {
    if (errno != EPERM) return Error::FromErrno(errno, "clone its mount");
    if (must_give) TRY(RequireWritable(directory, ids));
    return DetachInChild(directory);
  }
  bool has_others = false;
  if (must_give) {
    TRY_ASSIGN(has_others, HasOtherOwners(directory));
  }
  if (has_others) {
    TRY_ASSIGN(tree, GiveByOverlay(tree, ids));
  } else {
    GiveToJailedUser(tree);
    if (must_give) TRY(RequireWritable(tree, ids));
  }
  if (SetAttributes(tree.get()) != 0) return Error::FromErrno(errno, "make a tree read-only");
  return tree;
}

}  // namespace caisson::jail
