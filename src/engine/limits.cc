#include "engine/limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace caisson {
namespace {

using Time = std::chrono::nanoseconds Limits::*;
using Count = std::uint64_t Limits::*;

struct TimeLimit {
  std::string_view name;
  Time field;
};
struct CountLimit {
  std::string_view name;
  Count field;
};

constexpr std::array kTimes{
    TimeLimit{"wall_seconds", &Limits::wall_time},
    TimeLimit{"cpu_seconds", &Limits::cpu_time},
};
constexpr std::array kCounts{
    CountLimit{"memory_bytes", &Limits::memory_bytes},
    CountLimit{"processes", &Limits::processes},
    CountLimit{"open_files", &Limits::open_files},
    CountLimit{"code_bytes", &Limits::code_bytes},
    CountLimit{"stdout_bytes", &Limits::stdout_bytes},
    CountLimit{"stderr_bytes", &Limits::stderr_bytes},
    CountLimit{"result_bytes", &Limits::result_bytes},
    CountLimit{"file_bytes", &Limits::file_bytes},
    CountLimit{"total_file_bytes", &Limits::total_file_bytes},
    CountLimit{"files", &Limits::files},
    CountLimit{"tool_calls", &Limits::tool_calls},
};

Error Bad(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

std::string Seconds(std::chrono::nanoseconds time) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 std::chrono::duration<double>(time).count());
  return {text.data(), end.ptr};
}

Result<std::chrono::nanoseconds> ParseSeconds(std::string_view name, std::string_view value) {
  const Error bad = Bad(std::string(name) + ": \"" + std::string(value) +
                        "\" is not a positive number of seconds (such as 10 or 0.5)");
  // A larger number of seconds would not fit into nanoseconds; every ceiling is far lower.
  constexpr double kMost = 1e9;
  const bool number = !value.empty() && value.find_first_not_of("0123456789.e+") == value.npos;
  double seconds = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
  // A value without a minus sign that is out of range is too large, never too small.
  if (parsed.ec == std::errc::result_out_of_range) seconds = kMost;
  const bool read = parsed.ec == std::errc() || parsed.ec == std::errc::result_out_of_range;
  if (!number || !read || parsed.ptr != value.data() + value.size()) return bad;
  const auto time = std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::min(std::round(seconds * 1e9), kMost * 1e9)));
  if (time.count() <= 0) return bad;
  return time;
}

Result<std::uint64_t> ParseCount(std::string_view name, std::string_view value) {
  std::uint64_t count = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), count);
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
  if (digits && parsed.ec == std::errc::result_out_of_range) return UINT64_MAX;
  if (!digits || parsed.ec != std::errc() || count == 0) {
    return Bad(std::string(name) + ": \"" + std::string(value) +
               "\" is not a positive whole number");
  }
  return count;
}

Error TooHigh(std::string_view name, const std::string& value, const std::string& most) {
  return Bad(std::string(name) + ": " + value + " is not allowed; the maximum is " + most +
             " (limits.max." + std::string(name) + ")");
}

std::string AllNames() {
  std::string names;
  for (const auto& limit : kTimes) names.append(names.empty() ? "" : " ").append(limit.name);
  for (const auto& limit : kCounts) names.append(" ").append(limit.name);
  return names;
}

}  // namespace

Limits DefaultCeiling() {
  return {
      .wall_time = std::chrono::seconds(300),
      .cpu_time = std::chrono::seconds(300),
      .memory_bytes = (std::uint64_t{4} << 30) - (64u << 10),
      .processes = 16,
      .open_files = 1024,
      .code_bytes = 1u << 20,
      .stdout_bytes = 16u << 20,
      .stderr_bytes = 16u << 20,
      .result_bytes = 16u << 20,
      .file_bytes = 64u << 20,
      .total_file_bytes = 128u << 20,
      .files = 10'000,
      .tool_calls = 100'000,
  };
}

Limits LowerTo(const Limits& ceiling, Limits limits) {
  for (const auto& limit : kTimes) {
    limits.*limit.field = std::min(limits.*limit.field, ceiling.*limit.field);
  }
  for (const auto& limit : kCounts) {
    limits.*limit.field = std::min(limits.*limit.field, ceiling.*limit.field);
  }
  limits.message_bytes = std::min(limits.message_bytes, ceiling.message_bytes);
  return limits;
}

std::string LimitText(const Limits& limits, std::string_view name) {
  for (const auto& limit : kTimes) {
    if (limit.name == name) return Seconds(limits.*limit.field);
  }
  return std::to_string(limits.*std::ranges::find(kCounts, name, &CountLimit::name)->field);
}

Result<void> SetLimit(Limits& limits, std::string_view name, std::string_view value) {
  for (const auto& limit : kTimes) {
    if (limit.name != name) continue;
    TRY_ASSIGN(limits.*limit.field, ParseSeconds(name, value));
    return {};
  }
  for (const auto& limit : kCounts) {
    if (limit.name != name) continue;
    TRY_ASSIGN(limits.*limit.field, ParseCount(name, value));
    return {};
  }
  return Bad("there is no limit \"" + std::string(name) + "\"; the limits are " + AllNames());
}

Result<void> CheckLimits(const Limits& limits, const Limits& ceiling) {
  for (const auto& limit : kTimes) {
    const auto value = limits.*limit.field;
    if (value.count() > 0 && value <= ceiling.*limit.field) continue;
    return TooHigh(limit.name, Seconds(value), Seconds(ceiling.*limit.field));
  }
  for (const auto& limit : kCounts) {
    const auto value = limits.*limit.field;
    if (value > 0 && value <= ceiling.*limit.field) continue;
    return TooHigh(limit.name, std::to_string(value), std::to_string(ceiling.*limit.field));
  }
  if (limits.message_bytes == 0 || limits.message_bytes > ceiling.message_bytes) {
    return Bad("message_bytes: at most " + std::to_string(ceiling.message_bytes) + " is allowed");
  }
  return {};
}

}  // namespace caisson
