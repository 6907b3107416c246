#include "jail/enclosure.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "jail/kernel_identity.h"
#include "jail/walls.h"

namespace caisson::jail {
namespace {

constexpr std::uint64_t kSlotNamespaces = CLONE_NEWUSER | CLONE_NEWNS;

// Limits that are equal for all processes; those that depend on a run are set later.
// Queued signals are counted for the user of all cells as well, and a POSIX timer needs one.
constexpr std::array<Limit, 7> kSharedLimits = {{{RLIMIT_CORE, 0},
                                                 {RLIMIT_MEMLOCK, 0},
                                                 {RLIMIT_MSGQUEUE, 0},
                                                 {RLIMIT_SIGPENDING, 64},
                                                 {RLIMIT_NICE, 0},
                                                 {RLIMIT_RTPRIO, 0},
                                                 {RLIMIT_LOCKS, 0}}};

// Calls needed beyond those of an interpreter: to make, settle and confine a process, and to
// communicate with the requester. It includes clone, fork and fcntl (locks), whose rules differ
// between cells with one and with several processes.
constexpr std::array<int, 22> kNeededToFork = {SYS_clone,
                                               SYS_fcntl,
                                               SYS_fork,
                                               SYS_vfork,
                                               SYS_pidfd_open,
                                               SYS_setsid,
                                               SYS_mount,
                                               SYS_umount2,
                                               SYS_move_mount,
                                               SYS_pivot_root,
                                               SYS_prctl,
                                               SYS_capget,
                                               SYS_capset,
                                               SYS_landlock_create_ruleset,
                                               SYS_landlock_add_rule,
                                               SYS_landlock_restrict_self,
                                               SYS_seccomp,
                                               SYS_socketpair,
                                               SYS_sendto,
                                               SYS_sendmsg,
                                               SYS_recvfrom,
                                               SYS_recvmsg};

}  // namespace

Result<Enclosure> Enclosure::Open(const EnclosureSpec& spec) {
  UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc.is_open()) return Error::FromErrno(errno, "open /proc");
  TRY(RequireSingleThread(proc));
  TRY(SetProcessName(spec.name));
  const Result<int> abi = LandlockAbi();
  if (!abi && spec.tier != Tier::kNone) return Error(abi.error());
  if (spec.tier == Tier::kNamespace) {
    TRY(RequireOwnNamespaces());
    TRY(VerifyNoNetwork());
    TRY(SwapRoot(spec.root));
  }
  return Enclosure(spec.tier, std::move(proc), abi ? *abi : 0);
}

Result<Filter::Parts> Enclosure::FilterParts(std::span<const SyscallRule> rules) {
  return Filter::CompileInParts(rules, kNeededToFork);
}

Result<Walls> Enclosure::Seal(const Filter& filter) {
  WallBuilder walls(tier_);
  // A thread's locks would stay locked for ever in forked processes, and the thread would stay
  // outside the walls below.
  TRY(RequireSingleThread(proc_));
  if (tier_ == Tier::kNamespace) {
    TRY(walls.Put("namespaces", Need::kRequired, {}));
    TRY(walls.Put("network", Need::kRequired, VerifyNoNetwork()));
    TRY(PutHostName(walls));
    TRY(walls.Put("root", Need::kRequired, SealRoot(), kRootFix));
    TRY(walls.Put("bounding_set", Need::kRequired, DropPrivilegeSources()));
  }
  TRY(walls.Put("no_new_privs", Need::kRequired, ForbidNewPrivileges()));
  TRY(walls.Put("capabilities", Need::kRequired, DropCapabilities()));
  TRY(walls.Put("no_exec_gain", Need::kExtra, RefuseExecGain(), kNewerKernelFix));
  IsolateBranches();
  TRY(walls.Put("rlimits", Need::kRequired, SetLimits(kSharedLimits)));
  const Result<void> landlock =
      landlock_abi_ > 0 ? Result<void>()
                        : Error(ErrorCode::kFailedPrecondition, "there is no Landlock here");
  TRY(walls.Put("landlock", Need::kRequired, landlock, kLandlockFix));
  TRY(PutLandlockExtras(walls, landlock_abi_, landlock_abi_ > 0));
  TRY(walls.Put("seccomp", Need::kRequired, filter.Load(), kSeccompFix));
  return std::move(walls).Take();
}

Result<Enclosure::Forked> Enclosure::Fork() const {
  return Clone(kSlotNamespaces | CLONE_NEWPID);
}

Result<Enclosure::Forked> Enclosure::ForkSlot() const {
  if (tier_ != Tier::kNamespace) return Error(ErrorCode::kInternal, "a slot without namespaces");
  return Clone(kSlotNamespaces);
}

Result<Enclosure::Forked> Enclosure::ForkInSlot() const {
  return Clone(CLONE_NEWPID);
}

Result<Enclosure::Forked> Enclosure::Clone(std::uint64_t namespaces) const {
  const pid_t parent = ::getpid();
  int pidfd = -1;
  // glibc has no fork with flags. Its fork would correct the main thread's id in the child. That is
  // not needed: the process that built the enclosure is pid 1, and so is each process that runs
  // code. (In a process that holds a slot it is wrong, but not used.)
  const long pid =
      tier_ == Tier::kNamespace
          ? ::syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, 0)
          : ::fork();
  if (pid < 0) return Error::FromErrno(errno, "fork");
  if (pid == 0) {
    DieWith(parent);
    return Forked{};
  }
  if (pidfd < 0) pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  return Forked{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

// If the parent died before this took effect, getppid shows it. Not in tier kNamespace, where a
// child's parent is outside of its pid namespace: there the process that built the enclosure is pid
// 1 of the surrounding namespace, whose end kills all processes in it, and it ends itself when a
// process that holds a slot has ended (ForkServer::Reap).
void Enclosure::DieWith(pid_t parent) const {
  const int set = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const bool late = tier_ != Tier::kNamespace && ::getppid() != parent;
  if (set != 0 || late) ::_exit(EXIT_FAILURE);
}

Result<void> Enclosure::WriteProc(const char* file, const std::string& text) const {
  const UniqueFd fd(
      ::openat(proc_.get(), (std::string("self/") + file).c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.is_open() ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error::FromErrno(errno, std::string("write ") + file);
  }
  return {};
}

Result<void> Enclosure::Settle(const PrivateFiles& files, std::uint64_t bytes,
                               std::uint64_t inodes) const {
  if (tier_ != Tier::kNamespace) return {};
  TRY(SettleIdentity());
  return MountPrivateFiles(files, bytes, inodes);
}

Result<void> Enclosure::SettleIdentity() const {
  // Maps the same single id inside and outside, so that the limit on tasks counts only this process
  // tree.
  const std::string map = std::to_string(kInsideId) + " " + std::to_string(kInsideId) + " 1";
  TRY(WriteProc("setgroups", "deny"));
  TRY(WriteProc("gid_map", map));
  return WriteProc("uid_map", map);
}

Result<UniqueFd> Enclosure::MakeRules(std::span<const PathRule> paths) const {
  if (landlock_abi_ == 0) return UniqueFd();
  return MakeLandlockRules(landlock_abi_, paths);
}

Result<void> Enclosure::ApplyRules(const UniqueFd& rules) const {
  return rules.is_open() ? ApplyLandlockRules(rules) : Result<void>();
}

Result<void> Enclosure::Confine(const ConfineSpec& spec) const {
  const Result<void> confined = PutUpWalls(spec);
  return tier_ == Tier::kNone ? Result<void>() : confined;
}

Result<void> Enclosure::PutUpWalls(const ConfineSpec& spec) const {
  TRY_ASSIGN(const UniqueFd rules, MakeRules(spec.paths));
  TRY(ApplyRules(rules));
  if (tier_ == Tier::kNamespace) {
    // A new user namespace has a full bounding set, and dropping it bit by bit takes a fifth of the
    // time to make a cell. It bounds what exec could grant. No exec grants anything here, because
    // no_new_privs is inherited.
    TRY(LockSecurebits());
    const Limit tasks{RLIMIT_NPROC, spec.tasks};
    TRY(SetLimits({&tasks, 1}));
  }
  TRY(DropCapabilities());
  return ForbidDumping();
}

Result<UniqueFd> Enclosure::OpenOwn(const char* file) const {
  UniqueFd fd(::openat(proc_.get(), (std::string("self/") + file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return Error::FromErrno(errno, std::string("open /proc/self/") + file);
  return fd;
}

Result<std::uint64_t> Enclosure::AddressSpace() const {
  TRY_ASSIGN(const UniqueFd fd, OpenOwn("statm"));
  std::array<char, 128> text{};
  if (::read(fd.get(), text.data(), text.size() - 1) <= 0) {
    return Error::FromErrno(errno, "read the size of this process");
  }
  return std::strtoull(text.data(), nullptr, 10) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace caisson::jail
