#include "jail/enter.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/root.h"

namespace caisson::jail {
namespace {

constexpr int kSetMdwe = 65;              // PR_SET_MDWE, Linux 6.3.
constexpr unsigned long kRefuseGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN
constexpr std::string_view kLandlockFix = "boot with landlock in the kernel's lsm= list";
constexpr std::string_view kNewerKernelFix = "a newer kernel";

enum class Need { kRequired, kExtra };

// Collects the walls. A required one that does not stand is an error, except in tier none.
class Builder {
 public:
  explicit Builder(Tier tier) : tier_(tier) {}

  Result<void> Put(std::string_view name, Need need, const Result<void>& result,
                   std::string_view fix = "") {
    if (!result && need == Need::kRequired && tier_ != Tier::kNone) {
      std::string message = "wall '" + std::string(name) + "' of tier " +
                            std::string(ToString(tier_)) + ": " + result.error().message();
      if (!fix.empty()) message += "; needs: " + std::string(fix);
      return Error(ErrorCode::kFailedPrecondition, std::move(message));
    }
    Wall wall{.name = std::string(name), .up = result.has_value(), .why_not = "", .fix = ""};
    if (!result) {
      wall.why_not = result.error().message();
      wall.fix = fix;
    }
    walls_.push_back(std::move(wall));
    return {};
  }

  Walls Take() && { return std::move(walls_); }

 private:
  Tier tier_;
  Walls walls_;
};

Error Missing(std::string message) {
  return Error(ErrorCode::kFailedPrecondition, std::move(message));
}

Result<void> FromStep(const char* failed_step) {
  if (failed_step == nullptr) return {};
  return Error::FromErrno(errno, failed_step);
}

Result<void> Prctl(std::string_view what, int option, unsigned long a, unsigned long b = 0,
                   unsigned long c = 0) {
  if (::prctl(option, a, b, c, 0UL) < 0) return Error::FromErrno(errno, what);
  return {};
}

// Landlock, capabilities and no_new_privs are per thread: a second one would stay outside.
Result<void> RequireSingleThread() {
  struct stat tasks{};
  if (::stat("/proc/self/task", &tasks) != 0) return Error::FromErrno(errno, "count the threads");
  if (tasks.st_nlink != 3)
    return Missing("a process with threads cannot be jailed");  // "." "..", us.
  return {};
}

// Pid 1 under the inside id exists only in namespaces that Spawn() made. Without this check a
// mistaken caller with privilege would take away the root of the host.
Result<void> RequireOwnNamespaces() {
  if (::getpid() != 1 || ::getuid() != kInsideId || ::geteuid() != kInsideId) {
    return Missing("this process was not spawned into namespaces of its own");
  }
  return {};
}

// With no route, sending anywhere fails at once, whatever the machine outside is connected to.
Result<void> VerifyNoNetwork() {
  UniqueFd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!udp.is_open()) return {};
  for (const char* address : {"127.0.0.1", "192.0.2.1"}) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    // The socket API's own idiom.
    if (::connect(udp.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      return Missing(std::string("the network namespace has a route to ") + address);
    }
  }
  return {};
}

Result<void> VerifyNoFiles() {
  UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.is_open() || errno != EACCES)
    return Missing("Landlock let the root directory be opened");
  return {};
}

Result<void> PutLandlock(Builder& walls) {
  Result<int> abi = LandlockAbi();
  if (!abi) {
    return walls.Put("landlock", Need::kRequired, abi.error(), kLandlockFix);
  }
  Result<void> applied = FromStep(LandlockDenyAll(*abi));
  if (applied) applied = VerifyNoFiles();
  const bool up = applied.has_value();
  TRY(walls.Put("landlock", Need::kRequired, applied, kLandlockFix));
  const std::string version = "Landlock ABI is " + std::to_string(*abi);
  const auto extra = [&](int needed) {
    return up && *abi >= needed ? Result<void>() : Result<void>(Missing(version));
  };
  // In tier namespace the network and pid namespaces cover these, and seccomp does everywhere.
  TRY(walls.Put("landlock_network", Need::kExtra, extra(kLandlockNetworkAbi), "Linux 6.7"));
  return walls.Put("landlock_scope", Need::kExtra, extra(kLandlockScopeAbi), "Linux 6.12");
}

constexpr unsigned long kSecurebits =
    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

// Securebits before the capability that may set them goes. What they lock: uid 0 grants nothing,
// and nothing ambient ever comes back.
Result<void> DropPrivilegeSources() {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    const int has = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (has < 0) break;  // Past the kernel's last capability.
    if (has == 1) TRY(Prctl("drop the bounding set", PR_CAPBSET_DROP, capability));
  }
  return Prctl("lock the securebits", PR_SET_SECUREBITS, kSecurebits);
}

Result<void> DropCapabilities() {
  TRY(Prctl("clear ambient capabilities", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL));
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capset, &header, data.data()) != 0) {
    return Error::FromErrno(errno, "drop capabilities");
  }
  if (::syscall(SYS_capget, &header, data.data()) != 0) {
    return Error::FromErrno(errno, "read capabilities");
  }
  for (const auto& word : data) {
    if ((word.effective | word.permitted | word.inheritable) != 0) {
      return Missing("capabilities survived");
    }
  }
  return {};
}

Result<void> SetLimits(const EnterSpec& spec) {
  const std::array<std::pair<__rlimit_resource_t, rlim_t>, 9> limits = {{
      {RLIMIT_CORE, 0},
      {RLIMIT_NPROC, spec.processes},
      {RLIMIT_NOFILE, spec.open_files},  // Bounds new numbers; what is open stays open.
      {RLIMIT_FSIZE, spec.file_bytes},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_NICE, 0},
      {RLIMIT_RTPRIO, 0},
      {RLIMIT_LOCKS, 0},
  }};
  for (const auto& [resource, value] : limits) {
    const rlimit limit{.rlim_cur = value, .rlim_max = value};
    if (::setrlimit(resource, &limit) != 0) {
      return Error::FromErrno(errno, "set rlimit " + std::to_string(resource));
    }
  }
  return {};
}

// Branch prediction trained by one process must not steer another. A property of the machine rather
// than a wall of the tier: `caisson doctor` says whether it can be had, and here it is taken if so.
void IsolateBranches() {
  ::prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_FORCE_DISABLE, 0, 0);
}

Result<void> PutNamespaces(Builder& walls) {
  TRY(RequireOwnNamespaces());
  TRY(walls.Put("namespaces", Need::kRequired, {}));
  TRY(walls.Put("network", Need::kRequired, VerifyNoNetwork()));
  Result<void> swapped = FromStep(SwapRoot());
  if (swapped) swapped = VerifyEmptyRoot();
  return walls.Put("root", Need::kRequired, swapped,
                   "a mount namespace that may pivot_root (not a chroot, no AppArmor restriction)");
}

}  // namespace

Result<Walls> Enter(const EnterSpec& spec) {
  Builder walls(spec.tier);
  TRY(RequireSingleThread());
  TRY(Prctl("set the process name", PR_SET_NAME,
            reinterpret_cast<unsigned long>(spec.name.c_str())));
  if (spec.tier == Tier::kNamespace) TRY(PutNamespaces(walls));
  // Landlock and an unprivileged filter both require this one first.
  TRY(walls.Put("no_new_privs", Need::kRequired,
                Prctl("set no_new_privs", PR_SET_NO_NEW_PRIVS, 1)));
  // After the root: Landlock forbids mounting.
  TRY(PutLandlock(walls));
  // Outside a user namespace of its own the process lacks the capability for this, and cannot gain
  // any by no_new_privs; Spawn() emptied the bounding set already when it could.
  if (spec.tier == Tier::kNamespace) {
    TRY(walls.Put("bounding_set", Need::kRequired, DropPrivilegeSources()));
  }
  TRY(walls.Put("capabilities", Need::kRequired, DropCapabilities()));
  TRY(walls.Put("not_dumpable", Need::kRequired, Prctl("set dumpable", PR_SET_DUMPABLE, 0)));
  TRY(walls.Put("no_exec_gain", Need::kExtra, Prctl("refuse exec gain", kSetMdwe, kRefuseGain),
                kNewerKernelFix));
  IsolateBranches();
  TRY(walls.Put("rlimits", Need::kRequired, SetLimits(spec)));
  TRY_ASSIGN(const Filter filter, Filter::Compile(spec.syscalls));
  TRY(walls.Put("seccomp", Need::kRequired, filter.Load(), "a kernel with CONFIG_SECCOMP_FILTER"));
  return std::move(walls).Take();
}

}  // namespace caisson::jail
