// A ProcessClock tells how much CPU time somebody else's process has used, all its threads together.
//
// Trust     The kernel's word. The process is held by its pidfd, so the number is never another's.
// Threads   Any.
// Lifetime  Borrows the pidfd for each reading.
#pragma once

#include <time.h>

#include <chrono>
#include <optional>

#include "base/unique_fd.h"

namespace caisson {

class ProcessClock {
 public:
  // Nothing if the process is gone, or /proc does not tell.
  static std::optional<ProcessClock> Of(const UniqueFd& pidfd);

  // Nothing once the process is gone.
  std::optional<std::chrono::nanoseconds> Read(const UniqueFd& pidfd) const;

 private:
  explicit ProcessClock(clockid_t clock) : clock_(clock) {}
  clockid_t clock_;
};

}  // namespace caisson
