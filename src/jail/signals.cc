#include "jail/signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

// Raw system calls only, as in newborn.cc.
namespace caisson::jail {
namespace {

constexpr int kLastSignal = 64;

}  // namespace

long ResetSignals() {
  struct KernelSigaction {
    void* handler;
    unsigned long flags;
    void* restorer;
    std::uint64_t mask;
  };
  const KernelSigaction default_action{};
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    const long result =
        ::syscall(SYS_rt_sigaction, signal, &default_action, nullptr, sizeof(std::uint64_t));
    if (result < 0) return result;
  }
  const std::uint64_t none = 0;
  return ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof(std::uint64_t));
}

}  // namespace caisson::jail
