// Landlock gives up every access to files, network and other processes that the running kernel can
// remove, permanently and without privilege.
//
// Trust     Privileged. Affects what is opened from now on; descriptors already open keep working.
// Threads   Restricts the calling thread and what it starts. Call it while single-threaded.
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

// Returns the Landlock version of the kernel. Fails with the reason if there is none.
Result<int> LandlockAbi();

// Handles all rights of that version and allows none. Needs no_new_privs. Returns null, or the step
// that failed, with the reason in errno. Does not use the heap, like SwapRoot().
const char* LandlockDenyAll(int abi);

// A path, and the access that stays allowed to it and to everything below.
struct PathRule {
  enum class Access {
    kRead,
    kExecute,  // Read and execute: a program or its loader. Nothing else can be executed.
    kUse,      // Read and write existing files: devices.
    kKeep,     // Read, write, make, rename and remove files and directories.
    kChange    // As kKeep, and also links and pipes.
  };
  std::string path;  // A path that does not exist is skipped.
  Access access = Access::kRead;
  const UniqueFd* directory = nullptr;  // Used instead of the path if set.
};

// As LandlockDenyAll, with these exceptions. It has two steps, so that several processes can take
// the second. The rules cover the files that the paths lead to when the ruleset is made.
Result<UniqueFd> MakeLandlockRules(int abi, std::span<const PathRule> rules);
Result<void> ApplyLandlockRules(const UniqueFd& ruleset);

}  // namespace caisson::jail
