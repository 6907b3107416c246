#include "engine/native/nursery/heap_gaps.h"

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "base/sanitized.h"

namespace caisson::nursery {
namespace {

constexpr std::size_t kLargest = 64 << 10;  // Below what is mapped instead of taken from the heap.
constexpr std::size_t kStep = 16;           // Between the sizes that malloc tells apart.

// Where the free rest behind all that was ever allocated begins.
const char* FreeEnd() {
  return static_cast<const char*>(::sbrk(0)) - ::mallinfo2().keepcost;
}

}  // namespace

// From large to small: when no gap holds `size` any more, none is larger.
void CloseHeapGaps() {
  if (kIsSanitized) return;  // Another allocator, whose gaps have no end.
  for (std::size_t size = kLargest; size > 0; size -= kStep) {
    while (true) {
      const char* end = FreeEnd();
      void* chunk = std::malloc(size - sizeof(std::size_t));  // With the word malloc itself needs.
      if (chunk == nullptr) return;
      if (static_cast<const char*>(chunk) < end) continue;
      std::free(chunk);
      break;
    }
  }
  ::malloc_trim(0);
}

}  // namespace caisson::nursery
