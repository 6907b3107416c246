// HostScope marks that the worker's own code runs, not the guest's, so that a timer never unwinds it.
//
// The timer's signal handler leaves the guest only while caisson_in_guest is 1. Otherwise it must note that
// time is up, and whoever ends the scope's call acts on it.
//
// Trust     The guest cannot reach the flag: it is outside its memory.
// Threads   The worker's one thread and the signal handlers that interrupt it.
// Lifetime  Made first in every function that the guest calls, gone last.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" {
extern volatile int caisson_in_guest;

// Ends the guest as if its program had exited. Not inside a HostScope: no destructor runs.
[[noreturn]] void caisson_exit_guest(std::uint32_t code);
}

namespace caisson::worker {

class HostScope {
 public:
  HostScope() {
    caisson_in_guest = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~HostScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    caisson_in_guest = 1;
  }

  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
};

}  // namespace caisson::worker
