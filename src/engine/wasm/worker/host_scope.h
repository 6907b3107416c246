// HostScope marks that the worker's own code runs, not the guest's, so that a timer never unwinds it,
// and makes sure that it has stack to run on.
//
// The timer's signal handler leaves the guest only while caisson_in_guest is 1. If it finds 0 it notes
// the tick, and the end of the scope acts on it. So a scope is as long as a guest can hold up others:
// long work is done in slices, each in a scope of its own (Progress).
//
// Trust     The guest cannot reach the flag: it is outside its memory.
// Threads   The worker's one thread and the signal handlers that interrupt it.
// Lifetime  Made first in every function that the guest calls, gone last.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/wasm/worker/switch.h"
#include "engine/wasm/worker/window.h"

extern "C" {
// Ends the guest as if its program had exited. Not inside a HostScope: no destructor runs.
[[noreturn]] void caisson_exit_guest(std::uint32_t code);
// Ends the guest because its stack is used up.
[[noreturn]] void caisson_stack_overflow();
}

namespace caisson::worker {

class HostScope {
 public:
  HostScope() {
    caisson_in_guest = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // One comparison, true only in the lowest part of the window's stack: when the base is made, the
    // guest runs on the process's own stack, which is elsewhere.
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    if (here - kStackBottom < kHostStackBytes) caisson_stack_overflow();
  }
  ~HostScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    caisson_in_guest = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // After the flag is set: a tick is either noted before this, or acts by itself.
    while (caisson_tick_missed != 0) [[unlikely]]
      caisson_take_missed_tick();
  }

  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
};

}  // namespace caisson::worker
