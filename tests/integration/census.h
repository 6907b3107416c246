// A Census counts what this process holds, from the kernel's point of view: nothing may be left over.
//
// Trust     Reads /proc of this process and its children only.
// Threads   Any.
// Lifetime  A value.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

namespace caisson::testing {

struct Census {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t mounts = 0;          // That this process sees: a cell's are not among them.
  std::vector<pid_t> processes{};  // All descendants but the berths of nurseries, sorted.

  bool operator==(const Census&) const = default;
};

Census TakeCensus();
std::vector<pid_t> Descendants();
// For whoever reads a failed expectation.
void PrintTo(const Census& census, std::ostream* out);

// Bytes of memory that belong to `pid`, shared pages counted by their share; nothing if the kernel
// does not tell.
std::optional<std::uint64_t> ProportionalMemory(pid_t pid);
std::uint64_t OwnResidentMemory();

}  // namespace caisson::testing
