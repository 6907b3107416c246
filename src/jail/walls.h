// Single walls, each a function, for the code that decides which walls go up and in what order
// (enter.cc, enclosure.cc).
//
// Trust     Privileged. No single wall is a jail.
// Threads   Single-threaded processes only: most of these affect only the calling thread.
// Lifetime  Cannot be undone.
#pragma once

#include <sys/resource.h>

#include <span>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson::jail {

enum class Need { kRequired, kExtra };

// Collects the walls. A required wall that does not stand is an error, except in tier none.
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

// Adds the rights that the kernel's version of Landlock cannot refuse. `up`: Landlock stands at
// all.
Result<void> PutLandlockExtras(WallBuilder& walls, int abi, bool up);

// The host name inside a jail of tier namespace.
inline constexpr std::string_view kJailHostName = "caisson";
// Adds whether the jail hides the host's name. This is never a required wall: a container may
// refuse to set another name.
Result<void> PutHostName(WallBuilder& walls);

// Returns an error made of the failed step and errno, or success for null.
Result<void> FromStep(const char* failed_step);

// `proc`: the directory /proc, wherever it is now.
Result<void> RequireSingleThread(const UniqueFd& proc);
// Fails unless this is pid 1 under the inside id, which exists only in namespaces that Spawn()
// made. Without this check a privileged caller could by mistake remove the root of the host.
Result<void> RequireOwnNamespaces();
// Fails if there is a route. Without one, sending anywhere fails at once, whatever the host is
// connected to.
Result<void> VerifyNoNetwork();

Result<void> SetProcessName(const std::string& name);
Result<void> ForbidNewPrivileges();
Result<void> ForbidDumping();
// Memory that was writable can never become executable, and memory cannot be both (Linux 6.3).
Result<void> RefuseExecGain();
// Prevents branch prediction trained by one process from steering another. It depends on the
// machine and is not a wall of the tier: it is used where available, and `caisson doctor` reports
// whether it is.
void IsolateBranches();

// Locks the securebits: uid 0 grants nothing, and ambient capabilities can never be raised again.
// Call it before DropCapabilities, which drops the capability needed for this.
Result<void> LockSecurebits();
// Does the same and empties the bounding set.
Result<void> DropPrivilegeSources();
// Drops all capability sets and verifies that.
Result<void> DropCapabilities();
// Drops all capabilities except the one needed to mount and to make pid namespaces.
Result<void> KeepMountingOnly();

struct Limit {
  __rlimit_resource_t resource;
  rlim_t value;
};
// Sets hard limits: soft and hard value are equal.
Result<void> SetLimits(std::span<const Limit> limits);
// Sets the limit, unless it is already lower.
Result<void> LowerLimit(const Limit& limit);

}  // namespace caisson::jail
