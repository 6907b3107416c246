// Enters a cell's code and leaves it: one stack window and one control block, both at fixed
// addresses, so that a cell's stack holds no pointer that is invalid in another process of this
// build.
//
// Trust     Guest code runs on the window's stack and reaches memory only through %gs. It can
//           neither read nor write the control block. A stack left by a trap or a signal is never
//           returned to. Leaving is one-way, except from host_wait (parked), from the timer
//           (preempted) and at the end of a host function (yielded).
// Threads   The worker's only thread. A second thread would break everything here.
// Lifetime  Static; the worker process.
#pragma once

#include <cstdint>

namespace caisson::worker {

// How the guest was left. switch.S uses these values.
enum class Left : std::uint32_t {
  kParked = 1,     // In host_wait; enter again with the answer.
  kFinished = 2,   // caisson_run returned.
  kTrapped = 3,    // `detail`: a wire::Trap. The stack is lost.
  kExited = 4,     // proc_exit; `detail`: the status. The stack is lost.
  kPreempted = 5,  // The timer interrupted it; resume from the saved registers.
  kStopped = 6,    // Ended by the worker (a limit inside a host function). The stack is lost.
  kYielded = 7,    // Preempted at the end of a host function; enter again.
};

// switch.S uses this layout.
struct SwitchBlock {
  void* host_stack;
  void* guest_stack;
  std::int64_t wait_timeout_ns;
  std::int32_t wait_seq;
  std::int32_t wait_answer;
  Left left;
  std::uint32_t detail;
};

extern "C" {

extern SwitchBlock caisson_switch;

// 1 while guest code may be interrupted. It is set when the guest is entered, and cleared by every
// way to leave it and during every host function that the guest calls (HostScope). The signal
// handlers act on the guest only while it is 1, so that they never interrupt host code half-way.
extern volatile std::int32_t caisson_in_guest;

// 1 if the timer ticked while caisson_in_guest was 0. HostScope acts on it when host code ends.
extern volatile std::int32_t caisson_tick_missed;

// Does what the timer would have done: leaves the guest if another cell wants the thread, and
// returns when the guest continues. Call it only at the end of a host function, when host code owns
// nothing.
void caisson_take_missed_tick();

// Leaves the guest as kYielded; caisson_in_guest must be 0. Returns with 1.
void caisson_yield();

// Continues at `guest_stack`: a fresh stack made by Context::Prepare, or one left by kParked or
// kYielded.
void caisson_enter(void* guest_stack);

// Continues where the timer interrupted: raises a fault, whose signal handler loads the saved
// registers.
void caisson_resume_preempted();
extern const char caisson_resume_fault[];

// Leaves the guest for good or, from a handler, by preemption; `left` must be set.
[[noreturn]] void caisson_leave();

// The first frame of every run: calls caisson_run of the guest.
void caisson_trampoline();
}

}  // namespace caisson::worker
