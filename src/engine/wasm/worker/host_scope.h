// HostScope marks that the worker's own code runs instead of the guest's, so that the timer never
// unwinds it, and ensures that it has enough stack.
//
// The timer's signal handler leaves the guest only while caisson_in_guest is 1. If it is 0, the
// handler records the tick, and the end of the scope acts on it. A guest can delay others for the
// length of a scope. So long work is done in slices, each in its own scope (Progress).
//
// Trust     The guest cannot reach the flag: it is outside its memory.
// Threads   The worker's only thread and the signal handlers that interrupt it.
// Lifetime  Constructed first and destroyed last in every function that the guest calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/wasm/worker/switch.h"
#include "engine/wasm/worker/window.h"

extern "C" {
// Ends the guest as if its program had exited. Do not call it inside a HostScope: no destructor
// runs.
[[noreturn]] void caisson_exit_guest(std::uint32_t code);
// Ends the guest because its stack is exhausted.
[[noreturn]] void caisson_stack_overflow();
}

namespace caisson::worker {

class HostScope {
 public:
  HostScope() {
    caisson_in_guest = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // One comparison, true only in the lowest part of the window's stack. When the base is made,
    // the guest runs on the process's own stack, which is elsewhere.
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    if (here - kStackBottom < kHostStackBytes) caisson_stack_overflow();
  }
  ~HostScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    caisson_in_guest = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Checked after the flag is set: a tick is either recorded before this, or acts by itself.
    while (caisson_tick_missed != 0) [[unlikely]]
      caisson_take_missed_tick();
  }

  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
};

}  // namespace caisson::worker
