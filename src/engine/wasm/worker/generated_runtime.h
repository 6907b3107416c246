// What the C code generated from guest.wasm needs from its surroundings: types, traps, memory growth.
//
// Trust     The generated code computes with hostile values. Linear memory is reached through %gs only; whoever enters
//           it must have set the gs base to `data` of the instance's memory, and must keep at `data` a reservation of
//           kWasmReservationBytes in which everything from `size` on is inaccessible (PROT_NONE). A load or store adds a
//           zero-extended 32-bit index and a 32-bit constant, so it touches at most data + 8 GiB + 7: the reservation
//           holds it, and the guard turns it into SIGSEGV. Bulk operations are checked against `size` here.
// Threads   One guest at a time per process; nothing here is thread-local, so parked stacks hold no TLS address.
// Lifetime  The instance struct lives at one fixed address. No frame of generated code keeps a pointer into linear memory
//           across a call, so memory may move between runs while stacks are parked.
#ifndef CAISSON_ENGINE_WASM_WORKER_GENERATED_RUNTIME_H_
#define CAISSON_ENGINE_WASM_WORKER_GENERATED_RUNTIME_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

#define CAISSON_WASM_PAGE_BYTES 65536u
// 4 GiB of index, 4 GiB of constant offset, and one page for the width of the access itself.
#define CAISSON_WASM_RESERVATION_BYTES ((8ull << 30) + CAISSON_WASM_PAGE_BYTES)

// Values are passed to caisson_trap and stay the same between builds.
typedef enum {
  WASM_RT_TRAP_NONE = 0,
  WASM_RT_TRAP_OOB = 1,           // bulk memory operation out of bounds
  WASM_RT_TRAP_INT_OVERFLOW = 2,  // division or conversion
  WASM_RT_TRAP_DIV_BY_ZERO = 3,
  WASM_RT_TRAP_INVALID_CONVERSION = 4,  // NaN to integer
  WASM_RT_TRAP_UNREACHABLE =
      5,  // abort() in the guest, or a call through a wrongly typed declaration
  WASM_RT_TRAP_CALL_INDIRECT = 6,  // function pointer out of range or of another signature
} wasm_rt_trap_t;

// Linear memory. `size` is 64 bits wide because 65536 pages are exactly 4 GiB.
typedef struct {
  uint8_t* data;
  uint64_t size;
  uint32_t pages;
  uint32_t max_pages;
} wasm_rt_memory_t;

typedef void (*wasm_rt_function_ptr_t)(void);

// One entry of the function table. Type 0 is "no function", so an empty entry matches no call.
typedef struct {
  uint32_t type;
  wasm_rt_function_ptr_t function;
} caisson_table_entry_t;

// Implemented by the worker. Leaves the guest's stack for good.
__attribute__((noreturn)) void caisson_trap(int code);

// Implemented by the worker: memory.grow. Makes `delta` more pages accessible and zero, updates pages and size, and
// returns the old page count; or changes nothing and returns UINT32_MAX. Must refuse beyond max_pages.
uint32_t caisson_grow_memory(wasm_rt_memory_t* memory, uint32_t delta);

// Implemented by whoever instantiates (the program that makes the base snapshot; a worker never does): reserves
// CAISSON_WASM_RESERVATION_BYTES, makes `pages` of it accessible and zero, fills in all fields.
void caisson_allocate_memory(wasm_rt_memory_t* memory, uint32_t pages, uint32_t max_pages);

// memory.fill and memory.copy with their bounds checks. Out of line, so that no frame of generated code ever holds
// the host address of linear memory.
void caisson_memory_fill(wasm_rt_memory_t* memory, uint32_t to, uint32_t value, uint32_t count);
void caisson_memory_copy(wasm_rt_memory_t* memory, uint32_t to, uint32_t from, uint32_t count);

// Copies one data segment of the module into fresh memory; bounds-checked.
void caisson_load_data(wasm_rt_memory_t* memory, uint32_t to, const uint8_t* from, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_ENGINE_WASM_WORKER_GENERATED_RUNTIME_H_
