// Finds the pid of the process behind a pidfd, for information that the kernel gives only by pid.
//
// Trust     The kernel supplies the number. It names that process only if IsThere() is still true
//           afterwards.
// Threads   Any.
// Lifetime  Functions.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace caisson {

// Returns the pid of the process in our pid namespace. A pidfd may come from another one.
std::optional<pid_t> PidOf(const UniqueFd& pidfd);

// Returns whether the process has not been reaped yet; until then it keeps its pid.
bool IsThere(const UniqueFd& pidfd);

}  // namespace caisson
