// How a run ended and what it left: the one outcome object that every door shows.
//
// Trust     Text, values and files inside were written by an attacker and are bounded, not clean.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace caisson {

enum class RunStatus { kCompleted, kFailed, kRejected, kLimit, kWaiting, kCancelled };
enum class RunReason {
  kReturned,
  kRaised,
  kPolicy,
  kWallTime,
  kCpuTime,
  kMemory,
  kResult,
  kFiles,
  kToolCalls,
  kCrashed,
  kDeniedSyscall,
  kKilled,
  kApproval,
  kDiverged,
  kLost,
};
std::string_view ToString(RunStatus status);
std::string_view ToString(RunReason reason);

struct RunError {
  std::string type;
  std::string message{};
  std::optional<std::int64_t> line{};
  std::string traceback{};
};

struct Finding {
  std::string rule;
  std::string message{};
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string hint{};
};

struct OutcomeFile {
  std::string path;
  std::string change{};  // "created", "modified" or "deleted".
  std::uint64_t size = 0;
  std::string contents{};
  std::string omitted{};  // Why the contents are not here; empty if they are.
};

struct OutcomeCall {
  std::uint32_t seq = 0;
  std::string tool{};
  Value arguments{};            // Of a great many, the first; null beyond those.
  bool has_positional = false;  // The last of them are those without a name: see WithPositional.
  std::string outcome{};        // "returned", "raised", "denied", "pending" or "uncertain".
  std::chrono::nanoseconds duration{};
};

// Arguments as one dict: those without a name stand last, as a list under a name that no parameter has. Whoever knows the
// tool can tell which they are.
Dict WithPositional(Dict keywords, List positional);

// What somebody is asked, while the run waits.
struct OutcomeApproval {
  std::string id;
  std::uint32_t seq = 0;
  std::string tool{};
  Value arguments{};
  std::string expires_at{};  // RFC 3339.
};

struct Boundary {
  std::string engine;
  std::string tier{};
  std::vector<std::string> missing{};
};

struct Usage {
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};
  std::chrono::nanoseconds queue{};  // Waiting for a cell.
  std::chrono::nanoseconds start{};  // From having a cell to the first instruction.
  std::uint64_t peak_memory_bytes = 0;
};

struct Outcome {
  std::string run_id{};
  RunStatus status = RunStatus::kFailed;
  RunReason reason = RunReason::kCrashed;
  std::string stdout_text{};
  std::string stderr_text{};
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::optional<Value> result{};             // Something JSON can hold.
  std::optional<std::string> result_repr{};  // Of a result JSON cannot hold.
  std::optional<RunError> error{};
  std::vector<Finding> findings{};
  std::vector<OutcomeFile> files{};
  std::vector<OutcomeCall> calls{};
  std::vector<OutcomeApproval> approvals{};
  Boundary boundary{};
  Usage usage{};
  // Not shown: what the code imports (of a check), and which of that only engine native has. If the
  // latter is why the code was refused, nothing of it was executed.
  std::vector<std::string> imports{};
  std::vector<std::string> native_modules{};
};

// The type of the error when the process that held the cell is gone.
inline constexpr std::string_view kWorkerLost = "WorkerLost";
// Whether the run ended only because that process did, perhaps by another run's doing. One that was ended for a
// forbidden system call is not among them: what was in it is not to be trusted.
bool EndedWithWorker(const Outcome& outcome);

// "run_" and 26 characters of Crockford's base32: 48 bits of time, so that ids sort by age to the
// millisecond, then 80 random bits.
std::string NewRunId();

// By the ending of its name: "text/csv", ...; "application/octet-stream" if that says nothing.
std::string_view MediaType(std::string_view path);

enum class FileData { kOmit, kInclude };

// Arguments of one call, and of all calls and of all approvals of an outcome, as text. Longer ones are null in the JSON, with
// "arguments_omitted": true beside them.
inline constexpr std::size_t kMaxOutcomeArgumentBytes = 64u << 10;
inline constexpr std::size_t kMaxOutcomeArgumentsBytes = 1u << 20;

// The outcome as one line of JSON. Bytes that are no UTF-8 become U+FFFD.
std::string ToJson(const Outcome& outcome, FileData file_data);

}  // namespace caisson
