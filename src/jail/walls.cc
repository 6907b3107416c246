#include "jail/walls.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "jail/kernel_identity.h"
#include "jail/landlock.h"

namespace caisson::jail {
namespace {

constexpr int kSetMdwe = 65;              // PR_SET_MDWE, Linux 6.3.
constexpr unsigned long kRefuseGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN

Error Missing(std::string message) {
  return Error(ErrorCode::kFailedPrecondition, std::move(message));
}

Result<void> Prctl(std::string_view what, int option, unsigned long a, unsigned long b = 0,
                   unsigned long c = 0) {
  if (::prctl(option, a, b, c, 0UL) < 0) return Error::FromErrno(errno, what);
  return {};
}

constexpr unsigned long kSecurebits =
    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

// Keeps the capabilities `kept` (bits of the first word) and verifies that.
Result<void> KeepCapabilities(std::uint32_t kept) {
  TRY(Prctl("clear ambient capabilities", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL));
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  data[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  if (::syscall(SYS_capset, &header, data.data()) != 0) {
    return Error::FromErrno(errno, "drop capabilities");
  }
  if (::syscall(SYS_capget, &header, data.data()) != 0) {
    return Error::FromErrno(errno, "read capabilities");
  }
  data[0].effective &= ~kept;
  data[0].permitted &= ~kept;
  for (const auto& word : data) {
    if ((word.effective | word.permitted | word.inheritable) != 0) {
      return Missing("capabilities survived");
    }
  }
  return {};
}

}  // namespace

Result<void> WallBuilder::Put(std::string_view name, Need need, const Result<void>& result,
                              std::string_view fix) {
  if (!result && need == Need::kRequired && tier_ != Tier::kNone) {
    std::string message = "wall '" + std::string(name) + "' of tier " +
                          std::string(ToString(tier_)) + ": " + result.error().message();
    if (!fix.empty()) message += "; needs: " + std::string(fix);
    return Missing(std::move(message));
  }
  Wall wall{.name = std::string(name), .up = result.has_value(), .why_not = "", .fix = ""};
  if (!result) {
    wall.why_not = result.error().message();
    wall.fix = fix;
  }
  walls_.push_back(std::move(wall));
  return {};
}

Result<void> PutHostName(WallBuilder& walls) {
  utsname names{};
  if (::uname(&names) != 0) return Error::FromErrno(errno, "read the machine's name");
  const Result<void> hidden =
      names.nodename == kJailHostName
          ? Result<void>()
          : Result<void>(Missing("sethostname is refused here, so code can read the host's name"));
  return walls.Put("host_name", Need::kExtra, hidden,
                   "allow sethostname and setdomainname in the container's seccomp profile");
}

Result<void> PutLandlockExtras(WallBuilder& walls, int abi, bool up) {
  const std::string version = "Landlock ABI is " + std::to_string(abi);
  const auto extra = [&](int needed) {
    return up && abi >= needed ? Result<void>() : Result<void>(Missing(version));
  };
  // In tier namespace the network and pid namespaces cover these as well, and seccomp covers them
  // everywhere.
  TRY(walls.Put("landlock_network", Need::kExtra, extra(kLandlockNetworkAbi), "Linux 6.7"));
  return walls.Put("landlock_scope", Need::kExtra, extra(kLandlockScopeAbi), "Linux 6.12");
}

Result<void> FromStep(const char* failed_step) {
  if (failed_step == nullptr) return {};
  return Error::FromErrno(errno, failed_step);
}

// Landlock, capabilities and no_new_privs are per thread: a second thread would stay outside.
Result<void> RequireSingleThread(const UniqueFd& proc) {
  struct stat tasks{};
  if (::fstatat(proc.get(), "self/task", &tasks, 0) != 0)
    return Error::FromErrno(errno, "count the threads");
  if (tasks.st_nlink != 3)
    return Missing("a process with threads cannot be jailed");  // ".", ".." and this thread.
  return {};
}

Result<void> RequireOwnNamespaces() {
  if (::getpid() != 1 || ::getuid() != kInsideId || ::geteuid() != kInsideId) {
    return Missing("this process was not spawned into namespaces of its own");
  }
  return {};
}

Result<void> VerifyNoNetwork() {
  UniqueFd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!udp.is_open()) return {};
  for (const char* address : {"127.0.0.1", "192.0.2.1"}) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    // The cast that the socket API requires.
    if (::connect(udp.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      return Missing(std::string("the network namespace has a route to ") + address);
    }
  }
  return {};
}

Result<void> SetProcessName(const std::string& name) {
  return Prctl("set the process name", PR_SET_NAME, reinterpret_cast<unsigned long>(name.c_str()));
}

Result<void> ForbidNewPrivileges() {
  return Prctl("set no_new_privs", PR_SET_NO_NEW_PRIVS, 1);
}

Result<void> ForbidDumping() {
  return Prctl("set dumpable", PR_SET_DUMPABLE, 0);
}

Result<void> RefuseExecGain() {
  return Prctl("refuse exec gain", kSetMdwe, kRefuseGain);
}

void IsolateBranches() {
  ::prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_FORCE_DISABLE, 0, 0);
}

Result<void> LockSecurebits() {
  return Prctl("lock the securebits", PR_SET_SECUREBITS, kSecurebits);
}

Result<void> DropPrivilegeSources() {
  for (unsigned long capability = 0;; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) break;  // After the kernel's last capability.
    return Error::FromErrno(errno, "drop the bounding set");
  }
  return LockSecurebits();
}

Result<void> DropCapabilities() {
  return KeepCapabilities(0);
}

Result<void> KeepMountingOnly() {
  return KeepCapabilities(1U << CAP_SYS_ADMIN);
}

Result<void> SetLimits(std::span<const Limit> limits) {
  for (const Limit& limit : limits) {
    const rlimit both{.rlim_cur = limit.value, .rlim_max = limit.value};
    if (::setrlimit(limit.resource, &both) != 0) {
      return Error::FromErrno(errno, "set rlimit " + std::to_string(limit.resource));
    }
  }
  return {};
}

// Without privilege the kernel refuses to raise a limit. After a failure the current value shows
// whether that was the reason.
Result<void> LowerLimit(const Limit& limit) {
  Result<void> set = SetLimits({&limit, 1});
  if (set) return {};
  rlimit now{};
  const bool is_lower = ::getrlimit(limit.resource, &now) == 0 && now.rlim_cur <= limit.value &&
                        now.rlim_max <= limit.value;
  return is_lower ? Result<void>() : set;
}

}  // namespace caisson::jail
