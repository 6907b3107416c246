// A SyscallListener answers the system calls that a filter asks about (Filter::CompileQuestions).
//
// A process waits in its call until the answer arrives. Decide by the call's number and its
// registers only: another thread can change the memory behind a pointer before the kernel reads it.
//
// Trust     Hostile processes ask as often as they like. The kernel supplies the call number and
//           the registers.
// Threads   One at a time.
// Lifetime  Owns the descriptor. After it is closed, calls that the filter asks about fail with
//           ENOSYS.
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
  pid_t thread = 0;  // As seen by this process; 0 if it cannot see the thread.
  int number = 0;    // SYS_clone...
  std::array<std::uint64_t, 6> arguments{};
};

class SyscallListener {
 public:
  explicit SyscallListener(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }

  // Returns the next question. nullopt: there is none, for example because the process died while
  // it asked.
  std::optional<SyscallQuestion> Receive() const;
  // Lets the kernel perform the call unchanged.
  void Allow(const SyscallQuestion& question) const;
  // Makes the call fail with this errno.
  void Refuse(const SyscallQuestion& question, int error_number) const;

 private:
  UniqueFd fd_;
};

}  // namespace caisson::jail
