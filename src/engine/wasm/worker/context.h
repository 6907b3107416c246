// A Context is where a cell is in its code: its part of the one stack window, its registers if the
// timer took it off, its C stack pointer. Go() puts it into the window and lets it run.
//
// All cells share one stack, at one address, and one module instance. When another cell takes over,
// the bytes of the stack in use are copied out; when it comes back they are copied in again. That
// makes parking cheap, lets a thousand cells wait in one process, and lets a parked cell wake in
// another process of the same build, since nothing on its stack says where its memory lies.
//
// Trust     Guest code runs inside Go(). It comes back by one of the ways of Left, never otherwise:
//           faults of the guest's own making are turned into kTrapped, any other fault kills the
//           worker, because it means that a wall has a hole.
// Threads   The worker's one thread.
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

// Called on a tick while guest code runs, in the signal handler, or when the host function ends during
// which the tick came: true takes the cell off.
using TickHandler = bool (*)();

// Maps the window, installs signal handlers and makes the timer. Once, before the jail closes.
Result<void> SetUpWindow(TickHandler on_tick);

// The timer ticks only between these two.
void StartTicking();
void StopTicking();

// Whether a tick came while no guest code ran since the last Go() began.
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

  // Makes the next Go() begin a run at the guest's caisson_run.
  void Prepare();

  // Runs until the guest leaves. `wait_answer` is what host_wait returns to a parked guest.
  Left Go(std::int32_t wait_answer);

  // Drops whatever was left of a run.
  void Forget();

  // The C stack pointer: as the base has it, after memory().Reset(); or as it was saved.
  void ResetGlobals();
  void RestoreGlobals(std::uint32_t stack_global);

  LinearMemory& memory() const { return memory_; }
  std::uint32_t stack_global() const;

  // The parked stack, for saving: its bytes and the address they begin at.
  std::span<const std::uint8_t> ParkedStack();
  std::uint64_t stack_pointer() const { return stack_pointer_; }

  // The inverse, from untrusted numbers: false unless they lie within the window.
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
  std::vector<std::uint8_t> stack_;  // Those bytes, while another cell has the window.
  std::unique_ptr<PreemptedRegisters> registers_;  // Set while the timer has taken it off.
};

}  // namespace caisson::worker
