// An Outcome describes how a run ended and what it produced. Every door shows the same object.
//
// Trust     Text, values and files in it were written by an attacker. They are bounded but not
//           sanitised.
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
  std::string omitted{};  // Why the contents are missing; empty if they are present.
};

struct OutcomeCall {
  std::uint32_t seq = 0;
  std::string tool{};
  // Null for calls after the first ones, if there are very many calls.
  Value arguments{};
  bool has_positional = false;  // The last argument holds the positional ones: see WithPositional.
  std::string outcome{};        // "returned", "raised", "denied", "pending" or "uncertain".
  std::chrono::nanoseconds duration{};
};

// Returns all arguments as one dict. The positional ones are the last entry, a list under a name
// that no parameter can have. A caller that knows the tool can map them to parameters.
Dict WithPositional(Dict keywords, List positional);

// The pending request for approval while the run waits.
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
  std::chrono::nanoseconds queue{};  // Time spent waiting for a cell.
  std::chrono::nanoseconds start{};  // Time from getting a cell to the first instruction.
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
  std::optional<Value> result{};             // A result that JSON can represent.
  std::optional<std::string> result_repr{};  // For a result that JSON cannot represent.
  std::optional<RunError> error{};
  std::vector<Finding> findings{};
  std::vector<OutcomeFile> files{};
  std::vector<OutcomeCall> calls{};
  std::vector<OutcomeApproval> approvals{};
  Boundary boundary{};
  Usage usage{};
  // Not shown to users: the modules that the code imports (set by a check), and those of them that
  // only engine native has. If the code was refused because of the latter, none of it was executed.
  std::vector<std::string> imports{};
  std::vector<std::string> native_modules{};
};

// The error type that is reported when the process that held the cell is gone.
inline constexpr std::string_view kWorkerLost = "WorkerLost";
// Returns whether the run ended only because its process ended, which another run may have caused.
// False if the process was killed for a forbidden system call, because its content cannot be
// trusted.
bool EndedWithWorker(const Outcome& outcome);

// Returns "run_" and 26 characters of Crockford's base32: 48 bits of time, so that ids sort by age
// in milliseconds, then 80 random bits.
std::string NewRunId();

// Returns the media type for the extension of the file name, such as "text/csv";
// "application/octet-stream" if the extension is unknown.
std::string_view MediaType(std::string_view path);

enum class FileData { kOmit, kInclude };

// The longest text of one call's arguments, and of the arguments of all calls and approvals, in an
// outcome. Longer ones are null in the JSON, with "arguments_omitted": true beside them.
inline constexpr std::size_t kMaxOutcomeArgumentBytes = 64u << 10;
inline constexpr std::size_t kMaxOutcomeArgumentsBytes = 1u << 20;

// Returns the outcome as one line of JSON. Bytes that are not valid UTF-8 become U+FFFD.
std::string ToJson(const Outcome& outcome, FileData file_data);

}  // namespace caisson
