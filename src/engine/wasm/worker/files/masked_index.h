// MaskedIndex makes an index that a guest chose safe to use after its check: if it is out of range
// it becomes 0, without a branch.
//
//   if (fd >= table.size()) return nullptr;
//   return &table[MaskedIndex(fd, table.size())];
//
// Otherwise a processor that mispredicts the check would speculatively read beyond the table and
// leave traces of the value in its caches (Spectre variant 1).
//
// Trust     `index` is hostile; `size` is ours.
// Threads   Any.
// Lifetime  A function.
#pragma once

#include <cstddef>

namespace caisson::worker {

inline std::size_t MaskedIndex(std::size_t index, std::size_t size) {
#ifdef __x86_64__
  std::size_t mask = 0;
  // Volatile; otherwise the compiler would drop the mask where it knows that the check has passed.
  asm volatile("cmpq %2, %1; sbbq %0, %0" : "=r"(mask) : "r"(index), "r"(size) : "cc");
#else
  const std::size_t mask = index < size ? ~std::size_t{0} : 0;
#endif
  return index & mask;
}

}  // namespace caisson::worker
