// The programs that CompareWithPython runs.
//
// Trust     Ours.
// Threads   Constants.
// Lifetime  Static.
#pragma once

#include <span>
#include <string_view>

namespace caisson::bench {

// Code that leaves what it computed in `answer`; it is run between two readings of the clock.
struct ComputeProgram {
  std::string_view name;
  std::string_view prepare;  // Not timed.
  std::string_view work;
};

std::span<const ComputeProgram> ComputePrograms();

}  // namespace caisson::bench
