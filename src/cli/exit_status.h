// The meaning of the program's exit status. Scripts rely on these numbers.
//
// Trust     Constants.
// Threads   Any.
// Lifetime  Static.
#pragma once

#include "base/error.h"
#include "engine/outcome.h"

namespace caisson::cli {

inline constexpr int kExitCompleted = 0;
inline constexpr int kExitCodeFailed = 1;  // The code failed, was refused or hit a limit.
inline constexpr int kExitUsage = 2;       // Usage or configuration.
inline constexpr int kExitWaiting = 3;     // Waits for an approval.
inline constexpr int kExitOurFault = 70;
inline constexpr int kExitSignalBase = 128;  // A signal ended it: 128 + its number.

int ExitStatus(RunStatus status);
// Returns the status for an error because of which no code ran.
int ExitStatus(ErrorCode code);

}  // namespace caisson::cli
