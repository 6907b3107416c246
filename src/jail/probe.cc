#include "jail/probe.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/unique_fd.h"
#include "jail/attach.h"
#include "jail/cgroup.h"
#include "jail/kernel_identity.h"
#include "jail/landlock.h"
#include "jail/root.h"

namespace caisson::jail {
namespace {

constexpr unsigned long kPagemapScan = 0xc0606610;  // Linux 6.7.
constexpr unsigned long kFsgsbaseBit = 2;           // AT_HWCAP2, arch/x86.

struct Attempt {
  int error_number = 0;  // 0: worked.
  bool cloned = true;    // False: the process could not even be created.
};

// Runs `body` in a child with these namespaces and reports its errno. The child is a copy of a
// process that may have threads, so `body` makes system calls only: no heap, no locks.
template <typename Body>
Attempt Try(std::uint64_t namespaces, Body body) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {errno, false};
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const long pid = ::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid < 0) return {errno, false};
  if (pid == 0) {
    ::syscall(SYS_close, ends[1]);  // Otherwise the read below would not end if the parent died.
    char go = 0;
    const bool released = ::syscall(SYS_read, ends[0], &go, 1) == 1;
    const int result = released ? body() : ECANCELED;
    ::syscall(SYS_exit_group, result);
    __builtin_unreachable();
  }
  bool mapped = true;
  if ((namespaces & CLONE_NEWUSER) != 0) {
    mapped = WriteIdMaps(static_cast<pid_t>(pid), ChooseIds()).has_value();
  }
  if (mapped) static_cast<void>(!::write(write_end.get(), "g", 1));
  if (!mapped) ::kill(static_cast<pid_t>(pid), SIGKILL);
  int status = 0;
  while (::waitpid(static_cast<pid_t>(pid), &status, __WALL) < 0 && errno == EINTR) {
  }
  if (!mapped) return {EPERM, true};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : EINTR, true};
}

int Nothing() {
  return 0;
}

int BecomeInside() {
  if (::syscall(SYS_setresgid, kInsideId, kInsideId, kInsideId) != 0) return errno;
  return ::syscall(SYS_setresuid, kInsideId, kInsideId, kInsideId) != 0 ? errno : 0;
}

int SwapRootInside() {
  if (int error = BecomeInside(); error != 0) return error;
  return SwapRoot() == nullptr ? 0 : errno;
}

int MountOverlayInside() {
  if (int error = BecomeInside(); error != 0) return error;
  return TryOverlay() == nullptr ? 0 : errno;
}

int InstallFilter() {
  if (::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0 ? errno : 0;
}

int SetNoNewPrivileges() {
  return ::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? errno : 0;
}

std::optional<long> ReadSetting(const char* path) {
  std::ifstream file(path);
  long value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::string Reason(int error_number) {
  return Error::FromErrno(error_number, "refused").message();
}

// Finds the switch that is responsible. Settings are only read to explain a refusal that happened.
Feature UserNamespaceFeature(const Attempt& attempt) {
  Feature feature{
      .name = "user_namespaces", .available = attempt.error_number == 0, .detail = "", .fix = ""};
  if (feature.available) return feature;
  feature.detail = Reason(attempt.error_number);
  if (ReadSetting("/proc/sys/user/max_user_namespaces") == 0) {
    feature.detail += "; user.max_user_namespaces is 0";
    feature.fix = "sysctl user.max_user_namespaces=10000";
  } else if (ReadSetting("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
    feature.detail += "; kernel.unprivileged_userns_clone is 0";
    feature.fix = "sysctl kernel.unprivileged_userns_clone=1";
  } else if (ReadSetting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1) {
    feature.detail += "; kernel.apparmor_restrict_unprivileged_userns is 1";
    feature.fix =
        "an AppArmor profile for caisson with `userns,`, or sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0";
  } else if (attempt.error_number == ENOSPC) {
    feature.detail += "; the limit of user namespaces or of their nesting is reached";
    feature.fix = "sysctl user.max_user_namespaces, here or in the container's host";
  } else if (attempt.error_number == ENOSYS || attempt.error_number == EINVAL) {
    feature.fix = "a kernel with CONFIG_USER_NS, not below 5.13";
  } else {
    feature.fix =
        "a container's seccomp profile or a security module forbids it: allow clone "
        "with CLONE_NEWUSER (docker: --security-opt seccomp=PROFILE)";
  }
  return feature;
}

Feature TriedFeature(std::string name, const Attempt& attempt, std::string fix) {
  const bool available = attempt.error_number == 0;
  return {.name = std::move(name),
          .available = available,
          .detail = available ? "" : Reason(attempt.error_number),
          .fix = available ? "" : std::move(fix)};
}

// Returns the remedy for features that need user namespaces, if those are missing.
std::optional<std::string> UserNamespacesFirst(const Report& report) {
  const auto found = std::ranges::find(report.features, "user_namespaces", &Feature::name);
  if (found == report.features.end() || found->available) return std::nullopt;
  return "user_namespaces first";
}

void AddNamespaces(Report& report) {
  report.features.push_back(UserNamespaceFeature(Try(CLONE_NEWUSER, Nothing)));
  const std::string fix = UserNamespacesFirst(report).value_or(
      "a kernel with this kind of namespace, not refused by a container");
  const std::initializer_list<std::pair<const char*, std::uint64_t>> kinds = {
      {"mount_namespace", CLONE_NEWNS}, {"pid_namespace", CLONE_NEWPID},
      {"net_namespace", CLONE_NEWNET},  {"ipc_namespace", CLONE_NEWIPC},
      {"uts_namespace", CLONE_NEWUTS},  {"cgroup_namespace", CLONE_NEWCGROUP}};
  for (const auto& [name, flag] : kinds) {
    report.features.push_back(TriedFeature(name, Try(CLONE_NEWUSER | flag, Nothing), fix));
  }
  const std::string root_fix = UserNamespacesFirst(report).value_or(
      "not inside a chroot; no AppArmor profile that refuses mounts in user namespaces "
      "(kernel.apparmor_restrict_unprivileged_userns=0)");
  report.features.push_back(
      TriedFeature("pivot_root", Try(CLONE_NEWUSER | CLONE_NEWNS, SwapRootInside), root_fix));
}

Feature OverlayFeature(const Report& report) {
  return TriedFeature("overlay_mounts", Try(CLONE_NEWUSER | CLONE_NEWNS, MountOverlayInside),
                      UserNamespacesFirst(report).value_or(
                          "Linux 6.6 with overlayfs, for mounts in engine native; engine wasm has "
                          "them everywhere"));
}

Feature LandlockFeature() {
  const Result<int> abi = LandlockAbi();
  if (!abi) {
    return {.name = "landlock",
            .available = false,
            .detail = abi.error().message(),
            .fix = "Linux 5.13 or later, booted with landlock in lsm="};
  }
  // The attempt includes the restriction itself, which a container may refuse even if the version
  // call works.
  const int version = *abi;
  const Attempt attempt = Try(0, [version] {
    if (int error = SetNoNewPrivileges(); error != 0) return error;
    return LandlockDenyAll(version) == nullptr ? 0 : errno;
  });
  Feature feature = TriedFeature("landlock", attempt, "allow the landlock system calls");
  if (feature.available) {
    feature.detail = "ABI " + std::to_string(version);
    if (version < kLandlockScopeAbi) {
      feature.detail += version < kLandlockNetworkAbi ? " (no network, no scopes)" : " (no scopes)";
      feature.fix = "Linux 6.12 for every right; the other walls cover the rest";
    }
  }
  return feature;
}

Feature PagemapScanFeature() {
  struct Scan {
    std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
  };
  Feature feature{.name = "pagemap_scan",
                  .available = false,
                  .detail = "",
                  .fix = "Linux 6.7; without it resets read the page map, which is slower"};
  UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.is_open()) {
    feature.detail = Error::FromErrno(errno, "open /proc/self/pagemap").message();
    return feature;
  }
  std::array<std::uint64_t, 3> region{};
  Scan scan{};
  scan.size = sizeof scan;
  scan.start = reinterpret_cast<std::uintptr_t>(&region) & ~std::uint64_t{4095};
  scan.end = scan.start + 4096;
  scan.vec = reinterpret_cast<std::uintptr_t>(region.data());
  scan.vec_len = 1;
  scan.return_mask = 1 << 3;  // PAGE_IS_PRESENT
  feature.available = ::syscall(SYS_ioctl, pagemap.get(), kPagemapScan, &scan) >= 0;
  if (feature.available) {
    feature.fix.clear();
  } else {
    feature.detail = Reason(errno);
  }
  return feature;
}

Feature CgroupFeature() {
  const Result<Cgroup> group =
      Cgroup::Create(Cgroup::NameFor(0), {.memory_bytes = std::uint64_t{1} << 30, .processes = 64});
  if (group) {
    return {.name = "cgroup_limits",
            .available = true,
            .detail = std::string(group->version()) + ", memory and pids",
            .fix = ""};
  }
  const std::string& message = group.error().message();
  const std::size_t split = message.find("; ");
  return {.name = "cgroup_limits",
          .available = false,
          .detail = message.substr(0, split),
          .fix = split == std::string::npos ? "" : message.substr(split + 2)};
}

Feature BranchFeature() {
  const int state = ::prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, 0, 0, 0);
  Feature feature{.name = "branch_isolation", .available = true, .detail = "", .fix = ""};
  if (state == PR_SPEC_NOT_AFFECTED) {
    feature.detail = "this processor is not affected";
  } else if (state < 0 || (static_cast<unsigned long>(state) &
                           (PR_SPEC_PRCTL | PR_SPEC_DISABLE | PR_SPEC_FORCE_DISABLE)) == 0) {
    feature.available = false;
    feature.detail = "processes cannot ask for it here";
    feature.fix =
        "boot with spectre_v2_user=prctl on a processor or hypervisor that offers STIBP/IBPB";
  }
  return feature;
}

void AddSimple(Report& report) {
  report.features.push_back(TriedFeature("no_new_privs", Try(0, SetNoNewPrivileges), ""));
  report.features.push_back(
      TriedFeature("seccomp_filter", Try(0, InstallFilter), "a kernel with CONFIG_SECCOMP_FILTER"));
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  report.features.push_back(
      TriedFeature("pidfd", {.error_number = pidfd.is_open() ? 0 : errno}, "Linux 5.3"));
  UniqueFd memfd(static_cast<int>(::syscall(SYS_memfd_create, "caisson-probe", 1U)));
  report.features.push_back(
      TriedFeature("memfd", {.error_number = memfd.is_open() ? 0 : errno}, "Linux 3.17"));
  const bool fsgsbase = (::getauxval(AT_HWCAP2) & kFsgsbaseBit) != 0;
  report.features.push_back({.name = "fsgsbase",
                             .available = fsgsbase,
                             .detail = fsgsbase ? "" : "the kernel does not offer wrgsbase",
                             .fix = fsgsbase ? ""
                                             : "Linux 5.9 on a processor with FSGSBASE, "
                                               "without nofsgsbase"});
}

TierVerdict Judge(const Report& report, Tier tier, std::initializer_list<std::string_view> needs) {
  TierVerdict verdict{.tier = tier, .available = true, .why_not = ""};
  for (std::string_view need : needs) {
    const Feature* feature = report.Find(need);
    if (feature != nullptr && feature->available) continue;
    verdict.available = false;
    if (!verdict.why_not.empty()) verdict.why_not += ", ";
    verdict.why_not += "no " + std::string(need);
  }
  return verdict;
}

}  // namespace

const Feature* Report::Find(std::string_view name) const {
  for (const Feature& feature : features) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

Report Probe() {
  Report report;
  utsname system{};
  if (::uname(&system) == 0) report.kernel = system.release;
  const bool x86_64 = std::string_view(system.machine) == "x86_64";
  report.features.push_back({.name = "x86_64",
                             .available = x86_64,
                             .detail = system.machine,
                             .fix = x86_64 ? "" : "an x86-64 machine"});
  AddNamespaces(report);
  report.features.push_back(LandlockFeature());
  AddSimple(report);
  report.features.push_back(OverlayFeature(report));
  report.features.push_back(CgroupFeature());
  report.features.push_back(PagemapScanFeature());
  report.features.push_back(BranchFeature());

  report.tiers.push_back(
      Judge(report, Tier::kNamespace,
            {"user_namespaces", "mount_namespace", "pid_namespace", "net_namespace",
             "ipc_namespace", "uts_namespace", "cgroup_namespace", "pivot_root", "landlock",
             "no_new_privs", "seccomp_filter", "pidfd"}));
  report.tiers.push_back(
      Judge(report, Tier::kLandlock, {"landlock", "no_new_privs", "seccomp_filter", "pidfd"}));
  report.tiers.push_back(Judge(report, Tier::kNone, {"pidfd"}));
  for (const TierVerdict& verdict : report.tiers) {
    if (!verdict.available) continue;
    report.best = verdict.tier;
    break;
  }
  return report;
}

}  // namespace caisson::jail
