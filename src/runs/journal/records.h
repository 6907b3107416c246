// Encodes the stored parts of a run as bytes: its request, the answers to its calls, and its
// sleeping cell.
//
// Trust     Decode reads data of the store and refuses data that is not valid. A sleeping run is
//           opened (approval/ key_ring.h) before it comes here.
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

// Of a run that is one call of a tool, without code.
struct RecordedDirectCall {
  std::string tool;
  std::string packed{};  // The arguments: a Dict, encoded by EncodeValue.
};

// Everything that is needed to start the run again.
struct RunRecord {
  std::string code;
  std::optional<std::string> session{};
  Limits limits{};
  std::string setting{};                     // Name; empty: the service's own.
  std::optional<std::string> seed{};         // Recording::seed; nullopt: the run has no journal.
  std::optional<CallerRecord> caller{};      // Its tools act for it; nullopt: no caller.
  std::optional<RecordedDirectCall> call{};  // The run is this call; `code` only describes it.
  std::vector<InputFile> inputs{};           // Files below /input, besides those of the setting.
};
std::string Encode(const RunRecord& record);
Result<RunRecord> DecodeRunRecord(std::string_view bytes);

std::string Encode(const CallerRecord& record);
Result<CallerRecord> DecodeCallerRecord(std::string_view bytes);

// The answer that the code received, and the time that it was told with it.
struct AnswerRecord {
  ToolAnswer answer;
  SystemTime at{};
};
// Fails only if the value is nested too deeply to be sent to a guest.
Result<std::string> Encode(const AnswerRecord& record);
Result<AnswerRecord> DecodeAnswerRecord(std::string_view bytes);

// The clock readings of the code. Parts can be in any order and repeated.
std::string Encode(std::span<const TracePart> parts);
Result<std::vector<TracePart>> DecodeTrace(std::string_view bytes);

// A saved cell, and the facts about its run that only the host knows.
struct SleepRecord {
  std::string stdout_text{};
  std::string stderr_text{};
  std::chrono::nanoseconds active{};  // Wall time that counts against the limit.
  std::chrono::nanoseconds waited{};  // Time parked in memory; does not count.
  // Set if the run only sleeps: `active` grows from this time until the cell's wake_at.
  std::optional<SystemTime> sleeps_since{};
  SavedCell cell{};
};
std::string Encode(const SleepRecord& record);
Result<SleepRecord> DecodeSleepRecord(std::string_view bytes);

}  // namespace caisson
