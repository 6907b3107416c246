// A SyscallListener answers the system calls that a filter asks about (Filter::CompileQuestions).
//
// A process waits in its call until the answer is there. Decide by the call's number and its registers alone: what a
// pointer leads to can be changed by another thread before the kernel reads it.
//
// Trust     Hostile processes ask as often as they like. Which call it is, and its registers, come from the kernel.
// Threads   One at a time.
// Lifetime  Owns the descriptor. Once it is closed, calls that are asked about fail with ENOSYS.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/unique_fd.h"

namespace caisson::jail {

struct SyscallQuestion {
  std::uint64_t id = 0;
  pid_t thread = 0;  // As this process sees it; 0 if it cannot.
  int number = 0;    // SYS_clone...
  std::array<std::uint64_t, 6> arguments{};
};

class SyscallListener {
 public:
  explicit SyscallListener(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }

  // The next question. nullopt: there is none; a process may have died while it asked.
  std::optional<SyscallQuestion> Receive() const;
  // The call is made as it was asked for.
  void Allow(const SyscallQuestion& question) const;
  // The call fails with this errno.
  void Refuse(const SyscallQuestion& question, int error_number) const;

 private:
  UniqueFd fd_;
};

}  // namespace caisson::jail
