// Landlock: gives up every access to files, network and other processes that the running kernel can
// take away, for good and without privilege.
//
// Trust     Privileged. Covers what is opened from now on; descriptors already open keep working.
// Threads   Restricts the calling thread and what it starts: call while single-threaded.
// Lifetime  Cannot be undone.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

inline constexpr int kLandlockNetworkAbi = 4;  // TCP bind and connect.
inline constexpr int kLandlockScopeAbi = 6;    // Signals and abstract sockets of other processes.

// The kernel's Landlock version; an error that says why when there is none.
Result<int> LandlockAbi();

// Handles all rights of that version and allows none. Needs no_new_privs. Returns null, or the step
// that failed with errno telling why; no heap, as SwapRoot().
const char* LandlockDenyAll(int abi);

// A path, and what stays allowed to it and to all below.
struct PathRule {
  enum class Access {
    kRead,
    kExecute,  // Read and become: a program, or what the kernel starts it with. Everything else never is.
    kUse,    // Read and write what is there: devices.
    kKeep,   // Read, write, make, rename and remove files and directories.
    kChange  // The same, and links and pipes.
  };
  std::string path;  // What does not exist is left out.
  Access access = Access::kRead;
  const UniqueFd* directory = nullptr;  // What it is about, in place of the path.
};

// As LandlockDenyAll, but for these: in two steps, so that several processes can take the second. The files that rules
// name are those that the paths lead to when the ruleset is made.
Result<UniqueFd> MakeLandlockRules(int abi, std::span<const PathRule> rules);
Result<void> ApplyLandlockRules(const UniqueFd& ruleset);

}  // namespace caisson::jail
