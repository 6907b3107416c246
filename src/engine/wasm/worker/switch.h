// The way into a cell's code and out of it again: one stack window, one control block, both at fixed
// addresses, so that a cell's stack holds no pointer that another process of this build would not have.
//
// Trust     Guest code runs on the window's stack and reaches memory only through %gs; it can neither
//           read nor write the control block. What a trap or a signal leaves behind is never returned
//           to: leaving is one-way, except from host_wait (parked), from the timer (preempted) and at the
//           end of a host function (yielded).
// Threads   The worker's one thread. A second thread would break everything here.
// Lifetime  Static; the worker process.
#pragma once

#include <cstdint>

namespace caisson::worker {

// How the guest was left. Known to switch.S.
enum class Left : std::uint32_t {
  kParked = 1,     // In host_wait; enter again with the answer.
  kFinished = 2,   // caisson_run returned.
  kTrapped = 3,    // `detail`: a wire::Trap. The stack is lost.
  kExited = 4,     // proc_exit; `detail`: the status. The stack is lost.
  kPreempted = 5,  // The timer interrupted it; resume from the saved registers.
  kStopped = 6,    // We ended it (a limit inside a host function). The stack is lost.
  kYielded = 7,    // Taken off at the end of a host function; enter again.
};

// Layout known to switch.S.
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

// 1 while guest code may be interrupted: set when the guest is entered, cleared by whatever leaves it
// and during every function the guest calls in the host (HostScope). The signal handlers act on the
// guest only while it is 1, so that they never tear host code apart.
extern volatile std::int32_t caisson_in_guest;

// 1 if the timer ticked while caisson_in_guest was 0. HostScope acts on it when host code ends.
extern volatile std::int32_t caisson_tick_missed;

// Does what the timer would have done: leaves the guest if anybody else wants the thread, and returns
// when the guest goes on. Only at the end of a host function, when no host code owns anything.
void caisson_take_missed_tick();

// Leaves the guest as kYielded; caisson_in_guest must be 0. Returns with 1.
void caisson_yield();

// Goes on at `guest_stack`: a fresh stack made by Context::Prepare, or one left by kParked or kYielded.
void caisson_enter(void* guest_stack);

// Goes on where the timer interrupted: raises the fault that the signal handler answers by loading
// the saved registers.
void caisson_resume_preempted();
extern const char caisson_resume_fault[];

// Leaves the guest for good or, from a handler, by preemption; `left` must be set.
[[noreturn]] void caisson_leave();

// The first frame of every run: calls caisson_run of the guest.
void caisson_trampoline();
}

}  // namespace caisson::worker
