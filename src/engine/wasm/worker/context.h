// A Context is the position of a cell in its code: its part of the one stack window, its registers
// if the timer preempted it, its C stack pointer. Go() puts it into the window and lets it run.
//
// All cells share one stack, at one address, and one module instance. When another cell takes over,
// the used bytes of the stack are copied out; when the cell comes back they are copied in again.
// That makes parking cheap, lets a thousand cells wait in one process, and lets a parked cell
// resume in another process of the same build, because nothing on its stack depends on the address
// of its memory.
//
// Trust     Guest code runs inside Go(). It returns only in one of the ways listed in Left. Faults
//           that the guest caused become kTrapped. Any other fault kills the worker, because it
//           means that a wall has a hole.
// Threads   The worker's only thread.
// Lifetime  Borrows the cell's memory. Destroy or Forget() it before the memory is reset.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/wasm/worker/generated.h"
#include "engine/wasm/worker/linear_memory.h"
#include "engine/wasm/worker/switch.h"

namespace caisson::worker {

// Called on a timer tick: in the signal handler while guest code runs, or at the end of the host
// function during which the tick came. Return true to preempt the cell.
using TickHandler = bool (*)();

// Maps the window, installs the signal handlers and makes the timer. Call once, before the jail
// closes.
Result<void> SetUpWindow(TickHandler on_tick);

// The timer ticks only between these two.
void StartTicking();
void StopTicking();

// Returns whether a tick came while no guest code ran since the last Go() began.
bool TickMissed();

struct PreemptedRegisters;

// The one instance of the generated module.
Z_python_instance_t& GuestInstance();

class Context {
 public:
  explicit Context(LinearMemory& memory);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Makes the next Go() start a run at the guest's caisson_run.
  void Prepare();

  // Runs until the guest leaves. host_wait returns `wait_answer` to a parked guest.
  Left Go(std::int32_t wait_answer);

  // Drops what is left of a run.
  void Forget();

  // Set the C stack pointer: to that of the base, after memory().Reset(), or to the saved one.
  void ResetGlobals();
  void RestoreGlobals(std::uint32_t stack_global);

  LinearMemory& memory() const { return memory_; }
  std::uint32_t stack_global() const;

  // Returns the parked stack for saving: its bytes and their start address.
  std::span<const std::uint8_t> ParkedStack();
  std::uint64_t stack_pointer() const { return stack_pointer_; }

  // The inverse, from untrusted numbers. Returns false unless they lie within the window.
  bool RestoreParked(std::uint64_t stack_pointer, std::span<const std::uint8_t> bytes,
                     std::uint32_t stack_global);

  // Tells the module instance that this cell's memory has grown.
  void MemoryGrew();

  static Context* current();

 private:
  void TakeWindow();
  void SetAside();

  LinearMemory& memory_;
  std::uint32_t stack_global_;
  std::uint64_t stack_pointer_ = 0;  // Lowest stack byte in use; 0: nothing on the stack.
  std::vector<std::uint8_t> stack_;  // Its stack bytes while another cell has the window.
  std::unique_ptr<PreemptedRegisters> registers_;  // Set while it is preempted.
};

}  // namespace caisson::worker
