#include "engine/wasm/worker/generated_runtime.h"

#include <string.h>

// 64-bit sum of two 32-bit values: cannot wrap.
static inline void CheckRange(const wasm_rt_memory_t* memory, uint32_t offset, uint32_t count) {
  if (UNLIKELY((uint64_t)offset + count > memory->size)) caisson_trap(WASM_RT_TRAP_OOB);
}

__attribute__((noinline)) void caisson_memory_fill(wasm_rt_memory_t* memory, uint32_t to,
                                                   uint32_t value, uint32_t count) {
  CheckRange(memory, to, count);
  memset(memory->data + to, (int)(value & 0xff), count);
}

__attribute__((noinline)) void caisson_memory_copy(wasm_rt_memory_t* memory, uint32_t to,
                                                   uint32_t from, uint32_t count) {
  CheckRange(memory, to, count);
  CheckRange(memory, from, count);
  memmove(memory->data + to, memory->data + from, count);
}

__attribute__((noinline)) void caisson_load_data(wasm_rt_memory_t* memory, uint32_t to,
                                                 const uint8_t* from, uint32_t count) {
  CheckRange(memory, to, count);
  memcpy(memory->data + to, from, count);
}
