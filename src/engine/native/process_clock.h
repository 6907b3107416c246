// A ProcessClock reads the CPU time of another process, for all its threads or with all its
// descendants.
//
// Trust     The kernel supplies the numbers. The pidfd holds the process, so the number never
//           belongs to another.
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
  // nullopt: the process is gone, or /proc does not show it.
  static std::optional<ProcessClock> Of(const UniqueFd& pidfd);

  // nullopt: the process is gone.
  std::optional<std::chrono::nanoseconds> Read(const UniqueFd& pidfd) const;
  // The same with its descendants, both live ones and those that were waited for. In ticks of 10
  // ms. Children that nobody waited for are not counted after their end.
  std::optional<std::chrono::nanoseconds> ReadTree(const UniqueFd& pidfd) const;

 private:
  ProcessClock(pid_t pid, clockid_t clock) : pid_(pid), clock_(clock) {}
  pid_t pid_;
  clockid_t clock_;
};

}  // namespace caisson
