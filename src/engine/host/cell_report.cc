#include "engine/host/cell_report.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace caisson {
namespace {

using wire::Ending;
using wire::Trap;

constexpr std::size_t kMaxFindings = 1000;
// A result of limits.result_bytes can take 40 times that size when decoded.
constexpr std::size_t kMaxReportDecodedBytes = 2 * kMaxDecodedBytes;

Error Bad(const char* what) {
  return Error(ErrorCode::kInvalidArgument, std::string("the report has ") + what);
}

void End(Outcome& outcome, RunStatus status, RunReason reason) {
  outcome.status = status;
  outcome.reason = reason;
}

std::string Text(const Dict& dict, std::string_view key) {
  const Value* value = dict.Find(key);
  const auto* text = value == nullptr ? nullptr : value->If<std::string>();
  return text == nullptr ? std::string() : *text;
}

std::optional<std::int64_t> Integer(const Dict& dict, std::string_view key) {
  const Value* value = dict.Find(key);
  const auto* number = value == nullptr ? nullptr : value->If<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

Result<void> TakeError(const Dict& report, Outcome& outcome) {
  const Value* value = report.Find("error");
  if (value == nullptr || value->is_none()) return {};
  const auto* error = value->If<Dict>();
  if (error == nullptr) return Bad("an error that is not a dict");
  outcome.error = RunError{.type = Text(*error, "type"),
                           .message = Text(*error, "message"),
                           .line = Integer(*error, "line"),
                           .traceback = Text(*error, "traceback")};
  return {};
}

Result<void> TakeFindings(const Dict& report, Outcome& outcome) {
  const Value* value = report.Find("findings");
  if (value == nullptr) return {};
  const auto* list = value->If<List>();
  if (list == nullptr) return Bad("findings that are not a list");
  for (const Value& item : list->items) {
    const auto* finding = item.If<Dict>();
    if (finding == nullptr || outcome.findings.size() == kMaxFindings) return Bad("bad findings");
    outcome.findings.push_back({.rule = Text(*finding, "rule"),
                                .message = Text(*finding, "message"),
                                .line = Integer(*finding, "line").value_or(0),
                                .column = Integer(*finding, "column").value_or(0),
                                .hint = Text(*finding, "hint")});
  }
  return {};
}

Result<void> TakeNames(const Dict& report, std::string_view key, std::vector<std::string>& names) {
  const Value* value = report.Find(key);
  if (value == nullptr) return {};
  const auto* list = value->If<List>();
  if (list == nullptr || list->items.size() > kMaxFindings) return Bad("names that are not a list");
  for (const Value& item : list->items) {
    const auto* name = item.If<std::string>();
    if (name == nullptr) return Bad("a name that is not text");
    names.push_back(*name);
  }
  return {};
}

// A caller that cannot pass the code on to engine native shows this finding.
void TakeNeedsNative(Outcome& outcome) {
  for (const std::string& module : outcome.native_modules) {
    outcome.findings.push_back({.rule = "import",
                                .message = module + " is in engine native only",
                                .hint = "run this code by itself, with engine auto or native"});
  }
  End(outcome, RunStatus::kRejected, RunReason::kPolicy);
}

void TakeResult(Dict& report, Outcome& outcome) {
  for (auto& [key, value] : report.items) {
    const auto* name = key.If<std::string>();
    if (name == nullptr) continue;
    if (*name == "repr") {
      if (auto* text = std::get_if<std::string>(&value.variant())) {
        outcome.result_repr = std::move(*text);
      }
    } else if (*name == "result") {
      outcome.result = std::move(value);
    }
  }
}

// The errors that libraries raise when an allocation was refused. Other errors come from the code
// itself, even if it ran out of memory before and continued.
bool MayMeanMemory(const RunError& error) {
  constexpr std::array kTypes = {"MemoryError", "ImportError", "OSError",
                                 "ParserError", "SystemError", "XMLSyntaxError"};
  const auto matches = [&](std::string_view type) { return error.type.ends_with(type); };
  return std::ranges::any_of(kTypes, matches) || error.message == "can't start new thread";
}

// A request for more memory than a size can express fails before the allocator can refuse it.
void TakeRaised(const wire::DoneHeader& header, const Dict& report, Outcome& outcome) {
  const bool refused =
      (header.flags & wire::kMemoryRefused) != 0 || report.Find("memory") != nullptr;
  if (refused && outcome.error && MayMeanMemory(*outcome.error)) {
    End(outcome, RunStatus::kLimit, RunReason::kMemory);
  } else {
    End(outcome, RunStatus::kFailed, RunReason::kRaised);
  }
}

Result<void> TakeReported(const wire::DoneHeader& header, std::string_view bytes,
                          Outcome& outcome) {
  DecodeBudget budget(kMaxReportDecodedBytes);
  auto decoded = DecodeValue(bytes, budget);
  if (!decoded && decoded.error().code() == ErrorCode::kResourceExhausted) {
    outcome.error = RunError{.type = "LimitError",
                             .message = "the result is too large: " + decoded.error().message()};
    End(outcome, RunStatus::kLimit, RunReason::kResult);
    return {};
  }
  TRY_ASSIGN(Value value, std::move(decoded));
  auto* report = std::get_if<Dict>(&value.variant());
  if (report == nullptr) return Bad("no fields");
  TRY(TakeError(*report, outcome));
  TRY(TakeFindings(*report, outcome));
  TRY(TakeNames(*report, "imports", outcome.imports));
  TRY(TakeNames(*report, "modules", outcome.native_modules));
  const std::string end = Text(*report, "end");
  if (end == "returned") {
    TakeResult(*report, outcome);
    End(outcome, RunStatus::kCompleted, RunReason::kReturned);
  } else if (end == "raised") {
    TakeRaised(header, *report, outcome);
  } else if (end == "rejected") {
    End(outcome, RunStatus::kRejected, RunReason::kPolicy);
  } else if (end == "needs_native") {
    TakeNeedsNative(outcome);
  } else if (end == "checked") {
    const bool clean = outcome.findings.empty();
    End(outcome, clean ? RunStatus::kCompleted : RunStatus::kRejected,
        clean ? RunReason::kReturned : RunReason::kPolicy);
  } else if (end == "exited") {
    if (Integer(*report, "status").value_or(1) == 0) {
      outcome.error.reset();
      End(outcome, RunStatus::kCompleted, RunReason::kReturned);
    } else {
      if (!outcome.error) outcome.error = RunError{.type = "SystemExit"};
      End(outcome, RunStatus::kFailed, RunReason::kRaised);
    }
  } else if (end == "result_too_large") {
    End(outcome, RunStatus::kLimit, RunReason::kResult);
  } else {
    return Bad("no known end");
  }
  return {};
}

RunError Explain(std::uint32_t trap) {
  switch (static_cast<Trap>(trap)) {
    case Trap::kMemory:
      return {.type = "MemoryFault", .message = "the interpreter reached outside its memory"};
    case Trap::kIndirectCall:
      return {
          .type = "CorruptCode",
          .message = "the interpreter called through a bad pointer (corrupt bytecode, usually)"};
    case Trap::kStack:
      return {.type = "StackOverflow", .message = "the interpreter's stack was used up"};
    case Trap::kUnreachable:
      return {.type = "Abort", .message = "the interpreter aborted"};
    case Trap::kArithmetic:
      return {.type = "ArithmeticFault",
              .message = "the interpreter divided by zero or overflowed"};
    case Trap::kOther:
      break;
  }
  return {.type = "Crash", .message = "the interpreter crashed"};
}

void TakeExit(std::uint32_t status, Outcome& outcome) {
  if (status == 0) return End(outcome, RunStatus::kCompleted, RunReason::kReturned);
  outcome.error =
      RunError{.type = "SystemExit", .message = "os._exit(" + std::to_string(status) + ")"};
  End(outcome, RunStatus::kFailed, RunReason::kRaised);
}

std::chrono::nanoseconds Nanoseconds(std::uint64_t count) {
  return std::chrono::nanoseconds(std::min<std::uint64_t>(count, INT64_MAX));
}

}  // namespace

void ApplyMeasured(const wire::DoneHeader& header, Outcome& outcome) {
  outcome.usage.start = Nanoseconds(header.start_ns);
  outcome.usage.wall = Nanoseconds(header.wall_ns);
  outcome.usage.cpu = Nanoseconds(header.cpu_ns);
  outcome.usage.peak_memory_bytes = header.peak_memory_bytes;
  outcome.stdout_truncated = (header.flags & wire::kStdoutTruncated) != 0;
  outcome.stderr_truncated = (header.flags & wire::kStderrTruncated) != 0;
}

Result<void> ApplyReport(const wire::DoneHeader& header, std::string_view report,
                         Outcome& outcome) {
  ApplyMeasured(header, outcome);
  switch (header.ending) {
    case Ending::kReported:
      return TakeReported(header, report, outcome);
    case Ending::kTrap:
      outcome.error = Explain(header.detail);
      End(outcome, RunStatus::kFailed, RunReason::kCrashed);
      break;
    case Ending::kWallTime:
      End(outcome, RunStatus::kLimit, RunReason::kWallTime);
      break;
    case Ending::kCpuTime:
      End(outcome, RunStatus::kLimit, RunReason::kCpuTime);
      break;
    case Ending::kCancelled:
      End(outcome, RunStatus::kCancelled, RunReason::kKilled);
      break;
    case Ending::kExit:
      TakeExit(header.detail, outcome);
      break;
    case Ending::kResultTooBig:
      End(outcome, RunStatus::kLimit, RunReason::kResult);
      break;
    case Ending::kToolCalls:
      End(outcome, RunStatus::kLimit, RunReason::kToolCalls);
      break;
    case Ending::kMemory:
      End(outcome, RunStatus::kLimit, RunReason::kMemory);
      break;
  }
  return {};
}

}  // namespace caisson
