// An index that a guest chose, for use after its check: out of range it becomes 0, without a branch.
//
//   if (fd >= table.size()) return nullptr;
//   return &table[MaskedIndex(fd, table.size())];
//
// A processor that mispredicts the check would read beyond the table meanwhile, and leave traces of what it
// read in its caches (Spectre, first variant).
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
  // Volatile, or the compiler would drop the mask where it knows that the check has passed.
  asm volatile("cmpq %2, %1; sbbq %0, %0" : "=r"(mask) : "r"(index), "r"(size) : "cc");
#else
  const std::size_t mask = index < size ? ~std::size_t{0} : 0;
#endif
  return index & mask;
}

}  // namespace caisson::worker
