// What is written about a run, as bytes: its request, the answers to its calls, and itself when it sleeps.
//
// Trust     Decode takes what a store gave back; whatever cannot be is refused. A sleeping run is opened (approval/
//           key_ring.h) before it comes here.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "engine/engine.h"
#include "engine/limits.h"

namespace caisson {

// All that beginning the run again needs.
struct RunRecord {
  std::string code;
  std::optional<std::string> session{};
  Limits limits{};
  std::string setting{};                  // Its name; empty: the service's own.
  std::optional<std::string> seed{};      // Recording::seed. Nothing: the run has no journal.
  std::optional<CallerRecord> context{};  // Whom its tools act for; nothing: nobody in particular.
};
std::string Encode(const RunRecord& record);
Result<RunRecord> DecodeRunRecord(std::string_view bytes);

// What the code was told, and which time with it.
struct AnswerRecord {
  ToolAnswer answer;
  SystemTime at{};
};
// Fails only on what no guest could have been sent (nesting).
Result<std::string> Encode(const AnswerRecord& record);
Result<AnswerRecord> DecodeAnswerRecord(std::string_view bytes);

// What the code was told by its clocks. In any order, and a part perhaps more than once.
std::string Encode(std::span<const TracePart> parts);
Result<std::vector<TracePart>> DecodeTrace(std::string_view bytes);

// A cell, and what the host knows about its run that the cell does not.
struct SleepRecord {
  std::string stdout_text{};
  std::string stderr_text{};
  std::chrono::nanoseconds active{};  // Wall time that counts.
  std::chrono::nanoseconds waited{};  // Spent parked in memory, which does not.
  // A run that waits for time alone: `active` goes on from here until its cell's wake_at.
  std::optional<SystemTime> sleeps_since{};
  SavedCell cell{};
};
std::string Encode(const SleepRecord& record);
Result<SleepRecord> DecodeSleepRecord(std::string_view bytes);

}  // namespace caisson
