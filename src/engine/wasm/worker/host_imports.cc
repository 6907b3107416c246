// The functions that guest code calls in the host, except those of WASI: see guest/abi.h. host_wait
// is in switch.S.
#include "engine/wasm/worker/generated.h"
#include "engine/wasm/worker/guest_host.h"
#include "engine/wasm/worker/host_scope.h"
#include "engine/wasm/worker/switch.h"
#include "engine/wasm/worker/wasi.h"
#include "wire/frames.h"

namespace caisson::worker {
namespace {

[[noreturn]] void Leave(Left left, std::uint32_t detail) {
  caisson_in_guest = 0;
  caisson_switch.left = left;
  caisson_switch.detail = detail;
  caisson_leave();
}

wire::Trap TrapOf(int code) {
  switch (code) {
    case WASM_RT_TRAP_OOB:
      return wire::Trap::kMemory;
    case WASM_RT_TRAP_INT_OVERFLOW:
    case WASM_RT_TRAP_DIV_BY_ZERO:
    case WASM_RT_TRAP_INVALID_CONVERSION:
      return wire::Trap::kArithmetic;
    case WASM_RT_TRAP_UNREACHABLE:
      return wire::Trap::kUnreachable;
    case WASM_RT_TRAP_CALL_INDIRECT:
      return wire::Trap::kIndirectCall;
    default:
      return wire::Trap::kOther;
  }
}

}  // namespace

ShimContext CurrentShim(Progress& progress) {
  GuestHost& host = *GuestHost::current;
  return {host.guest_memory(), host.files(), host, progress};
}

extern "C" {

u32 Z_hostZ_post(struct Z_host_instance_t*, u32 message, u32 length) {
  Progress progress;
  while (true) {
    const HostScope scope;
    const auto number = GuestHost::current->Post(message, length, progress);
    if (number) return static_cast<u32>(*number);
  }
}

u32 Z_hostZ_take(struct Z_host_instance_t*, u32 out, u32 capacity) {
  Progress progress;
  while (true) {
    const HostScope scope;
    const auto taken = GuestHost::current->Take(out, capacity, progress);
    if (taken) return *taken;
  }
}

void Z_hostZ_report(struct Z_host_instance_t*, u32 message, u32 length) {
  Progress progress;
  while (true) {
    const HostScope scope;
    if (GuestHost::current->Report(message, length, progress)) return;
  }
}

void caisson_trap(int code) {
  Leave(Left::kTrapped, static_cast<std::uint32_t>(TrapOf(code)));
}

void caisson_stack_overflow() {
  Leave(Left::kTrapped, static_cast<std::uint32_t>(wire::Trap::kStack));
}

void caisson_exit_guest(std::uint32_t status) {
  Leave(Left::kExited, status);
}

std::uint32_t caisson_grow_memory(wasm_rt_memory_t*, std::uint32_t delta) {
  HostScope scope;
  return GuestHost::current->Grow(delta);
}

}  // extern "C"

}  // namespace caisson::worker
