#include "engine/native/cell_verdict.h"

#include <string.h>

#include <csignal>
#include <string>

namespace caisson {
namespace {

std::string NameOf(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

Verdict Failed(RunReason reason, std::string type, std::string message) {
  return {.status = RunStatus::kFailed,
          .reason = reason,
          .error = RunError{.type = std::move(type), .message = std::move(message)}};
}

}  // namespace

Verdict JudgeSignal(int signal, std::chrono::nanoseconds cpu_used,
                    std::chrono::nanoseconds cpu_limit) {
  // RLIMIT_CPU sends SIGXCPU, and SIGKILL to a process that ignores it.
  if (signal == SIGXCPU || (signal == SIGKILL && cpu_used >= cpu_limit)) {
    return {.status = RunStatus::kLimit, .reason = RunReason::kCpuTime};
  }
  if (signal == SIGSYS) {
    return Failed(RunReason::kDeniedSyscall, "DeniedSyscall",
                  "the code made a system call that no cell may make");
  }
  if (signal == SIGKILL) {
    return Failed(RunReason::kKilled, "Killed", "the interpreter was killed from outside");
  }
  return Failed(RunReason::kCrashed, "Crash", "the interpreter was killed by " + NameOf(signal));
}

}  // namespace caisson
