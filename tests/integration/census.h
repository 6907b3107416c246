// A Census counts what this process holds, as the kernel reports it: nothing may be left over.
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
  std::size_t mounts = 0;          // Mounts that this process sees, without those of cells.
  std::vector<pid_t> processes{};  // All descendants except the slots of fork servers, sorted.

  bool operator==(const Census&) const = default;
};

Census TakeCensus();
std::vector<pid_t> Descendants();
// For the message of a failed expectation.
void PrintTo(const Census& census, std::ostream* out);

// Returns the memory of `pid` in bytes, with shared pages divided. nullopt: the kernel does not
// tell.
std::optional<std::uint64_t> ProportionalMemory(pid_t pid);
std::uint64_t OwnResidentMemory();

}  // namespace caisson::testing
