// Single walls, each a function, for those who decide which go up and in what order (enter.cc,
// enclosure.cc).
//
// Trust     Privileged. None of them is a jail by itself.
// Threads   Single-threaded processes only: most of these hold for the calling thread alone.
// Lifetime  Nothing here can be undone.
#pragma once

#include <sys/resource.h>

#include <span>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson::jail {

enum class Need { kRequired, kExtra };

// Collects the walls. A required one that does not stand is an error, except in tier none.
class WallBuilder {
 public:
  explicit WallBuilder(Tier tier) : tier_(tier) {}

  Result<void> Put(std::string_view name, Need need, const Result<void>& result,
                   std::string_view fix = "");

  Walls Take() && { return std::move(walls_); }

 private:
  Tier tier_;
  Walls walls_;
};

inline constexpr std::string_view kLandlockFix = "boot with landlock in the kernel's lsm= list";
inline constexpr std::string_view kSeccompFix = "a kernel with CONFIG_SECCOMP_FILTER";
inline constexpr std::string_view kRootFix =
    "a mount namespace that may pivot_root (not a chroot, no AppArmor restriction)";
inline constexpr std::string_view kNewerKernelFix = "a newer kernel";

// What the kernel's version of Landlock cannot refuse. `up`: Landlock stands at all.
Result<void> PutLandlockExtras(WallBuilder& walls, int abi, bool up);

// The machine's name inside a jail of tier namespace.
inline constexpr std::string_view kJailHostName = "caisson";
// Whether the jail hides the host's name. It is no wall: a container may refuse to set another one.
Result<void> PutHostName(WallBuilder& walls);

// An error made of the step that failed, or none for null. Reads errno.
Result<void> FromStep(const char* failed_step);

// `proc`: the directory /proc, wherever it is by now.
Result<void> RequireSingleThread(const UniqueFd& proc);
// Pid 1 under the inside id exists only in namespaces that Spawn() made. Without this check a mistaken
// caller with privilege would take away the root of the host.
Result<void> RequireOwnNamespaces();
// With no route, sending anywhere fails at once, whatever the machine outside is connected to.
Result<void> VerifyNoNetwork();

Result<void> SetProcessName(const std::string& name);
Result<void> ForbidNewPrivileges();
Result<void> ForbidDumping();
// Memory that was writable never becomes executable, nor both at once (Linux 6.3).
Result<void> RefuseExecGain();
// Branch prediction trained by one process must not steer another. A property of the machine rather
// than a wall of the tier: `caisson doctor` says whether it can be had, and here it is taken if so.
void IsolateBranches();

// Securebits, locked: uid 0 grants nothing, and nothing ambient ever comes back. Before DropCapabilities, which
// takes the capability that may set them.
Result<void> LockSecurebits();
// That, and the bounding set.
Result<void> DropPrivilegeSources();
// Every set; then looks.
Result<void> DropCapabilities();
// The same, but for the one capability that mounting and making pid namespaces take.
Result<void> KeepMountingOnly();

struct Limit {
  __rlimit_resource_t resource;
  rlim_t value;
};
// Hard limits: soft and hard alike.
Result<void> SetLimits(std::span<const Limit> limits);
// The same, unless the limit is lower already: then it stays.
Result<void> LowerLimit(const Limit& limit);

}  // namespace caisson::jail
