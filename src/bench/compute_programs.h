// The programs that CompareWithPython runs.
//
// Trust     Constants.
// Threads   Constants.
// Lifetime  Static.
#pragma once

#include <span>
#include <string_view>

namespace caisson::bench {

// Code that stores its result in `answer`; it runs between two clock readings.
struct ComputeProgram {
  std::string_view name;
  std::string_view prepare;  // Not timed.
  std::string_view work;
};

std::span<const ComputeProgram> ComputePrograms();

}  // namespace caisson::bench
