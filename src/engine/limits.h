// What one run may use. Enforced by the kernel, the worker and the host, never by Python code (I10).
//
// Trust     Values come from users; Check() is the gate. The operator's ceiling is itself a Limits.
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

// The most anybody may ask for. Operators may set lower ones ([limits.max]), never higher ones.
Limits DefaultCeiling();

// Returns `limits`, each of them lowered to that of `ceiling` where it is above.
Limits LowerTo(const Limits& ceiling, Limits limits);

// Sets one limit by the name the command line and the configuration use ("wall_seconds", ...), from
// decimal text. Zero, negative, not a number, and fractions of what is counted are refused.
Result<void> SetLimit(Limits& limits, std::string_view name, std::string_view value);

// Returns the limit as SetLimit reads it: "300", "0.5". Precondition: there is a limit of that name.
std::string LimitText(const Limits& limits, std::string_view name);

// Refuses what lies above the ceiling, with the value, the most that is allowed, and the setting that says so.
Result<void> CheckLimits(const Limits& limits, const Limits& ceiling);

}  // namespace caisson
