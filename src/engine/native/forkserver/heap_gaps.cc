#include "engine/native/forkserver/heap_gaps.h"

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "base/sanitized.h"

namespace caisson::forkserver {
namespace {

// Below the size that is mapped instead of taken from the heap.
constexpr std::size_t kLargest = 64 << 10;
constexpr std::size_t kStep = 16;  // The granularity of malloc's sizes.

// Returns the start of the free area after everything that was ever allocated.
const char* FreeEnd() {
  return static_cast<const char*>(::sbrk(0)) - ::mallinfo2().keepcost;
}

}  // namespace

// From large to small: when no gap holds `size` any more, none is larger.
void CloseHeapGaps() {
  if (kIsSanitized) return;  // Uses another allocator, which always finds further gaps.
  for (std::size_t size = kLargest; size > 0; size -= kStep) {
    while (true) {
      const char* end = FreeEnd();
      // With the word that malloc itself needs.
      void* chunk = std::malloc(size - sizeof(std::size_t));
      if (chunk == nullptr) return;
      if (static_cast<const char*>(chunk) < end) continue;
      std::free(chunk);
      break;
    }
  }
  ::malloc_trim(0);
}

}  // namespace caisson::forkserver
