// A ProcessClock tells how much CPU time somebody else's process has used, all its threads together, or with
// all its descendants.
//
// Trust     The kernel's word. The process is held by its pidfd, so the number is never another's.
// Threads   Any.
// Lifetime  Borrows the pidfd for each reading.
#pragma once

#include <sys/types.h>
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
  // The same with its descendants, those that live and those that were waited for. In ticks of 10 ms; children
  // that nobody waited for are forgotten when they end.
  std::optional<std::chrono::nanoseconds> ReadTree(const UniqueFd& pidfd) const;

 private:
  ProcessClock(pid_t pid, clockid_t clock) : pid_(pid), clock_(clock) {}
  pid_t pid_;
  clockid_t clock_;
};

}  // namespace caisson
