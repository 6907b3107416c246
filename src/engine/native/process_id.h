// Which process a pidfd holds, for what the kernel tells by number only.
//
// Trust     The kernel's word. A number is that process's as long as IsThere() says so afterwards.
// Threads   Any.
// Lifetime  Functions.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace caisson {

// The process's number as this process would call it. A pidfd may come from another pid namespace.
std::optional<pid_t> PidOf(const UniqueFd& pidfd);

// A process that has not been reaped keeps its number.
bool IsThere(const UniqueFd& pidfd);

}  // namespace caisson
