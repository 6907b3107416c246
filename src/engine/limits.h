// Limits bound the resources of one run. The kernel, the worker and the host enforce them, never
// Python code (I10).
//
// Trust     Values come from users and are checked by CheckLimits(). The operator's ceiling is
//           itself a Limits.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct Limits {
  std::chrono::nanoseconds wall_time = std::chrono::seconds(10);
  std::chrono::nanoseconds cpu_time = std::chrono::seconds(10);
  std::uint64_t memory_bytes = 256u << 20;
  std::uint64_t processes = 1;
  std::uint64_t open_files = 64;
  std::uint64_t code_bytes = 64u << 10;
  std::uint64_t stdout_bytes = 64u << 10;
  std::uint64_t stderr_bytes = 64u << 10;
  std::uint64_t result_bytes = 128u << 10;
  std::uint64_t file_bytes = 5u << 20;
  std::uint64_t total_file_bytes = 25u << 20;
  std::uint64_t files = 100;
  std::uint64_t tool_calls = 1000;
  std::uint64_t message_bytes = 8u << 20;  // One tool message; not settable per run.
};

// The built-in maximum of each limit. Operators can set a lower one ([limits.max]) but not a higher
// one.
Limits DefaultCeiling();

// Returns `limits`, with each value above `ceiling` lowered to it.
Limits LowerTo(const Limits& ceiling, Limits limits);

// Sets one limit from decimal text, by the name that the command line and the configuration use
// ("wall_seconds", ...). Fails for zero, negative values, text that is not a number, and fractions
// of a count.
Result<void> SetLimit(Limits& limits, std::string_view name, std::string_view value);

// Returns the limit in the format that SetLimit reads: "300", "0.5". Precondition: `name` is the
// name of a limit.
std::string LimitText(const Limits& limits, std::string_view name);

// Fails if a limit is above the ceiling. The error names the value, the maximum, and the setting
// that defines it.
Result<void> CheckLimits(const Limits& limits, const Limits& ceiling);

}  // namespace caisson
