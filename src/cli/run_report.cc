#include "cli/run_report.h"

#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "server/backends.h"

namespace caisson::cli {
namespace {

std::string Seconds(std::chrono::nanoseconds time) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 std::chrono::duration<double>(time).count());
  return {text.data(), end.ptr};
}

// Our own words begin on a line of their own, whatever the guest left.
void Say(Output& err, const std::string& text) {
  err.FinishLine();
  err.Write(text);
}

// A limit by its name on the command line, as it was and as high as it may go.
struct Advice {
  std::string_view option;
  std::string value;
  std::string_view unit;
  std::string most;
};

Advice TimeAdvice(std::string_view option, std::chrono::nanoseconds Limits::* field,
                  const Limits& limits) {
  return {option, Seconds(limits.*field), " s", Seconds(DefaultCeiling().*field)};
}

Advice CountAdvice(std::string_view option, std::string_view unit, std::uint64_t Limits::* field,
                   const Limits& limits) {
  return {option, std::to_string(limits.*field), unit, std::to_string(DefaultCeiling().*field)};
}

Advice AdviceFor(RunReason reason, const Limits& limits) {
  switch (reason) {
    case RunReason::kWallTime:
      return TimeAdvice("wall_seconds", &Limits::wall_time, limits);
    case RunReason::kCpuTime:
      return TimeAdvice("cpu_seconds", &Limits::cpu_time, limits);
    case RunReason::kMemory:
      return CountAdvice("memory_bytes", " bytes", &Limits::memory_bytes, limits);
    case RunReason::kResult:
      return CountAdvice("result_bytes", " bytes", &Limits::result_bytes, limits);
    case RunReason::kFiles:
      return CountAdvice("files", " files", &Limits::files, limits);
    case RunReason::kToolCalls:
      return CountAdvice("tool_calls", " calls", &Limits::tool_calls, limits);
    default:
      return {};
  }
}

void Raise(Output& err, const Advice& advice) {
  err.Write("; raise it with --limit " + std::string(advice.option) + "=N (at most " + advice.most +
            ")\n");
}

void ReportLimit(RunReason reason, const Limits& limits, Output& err) {
  const Advice advice = AdviceFor(reason, limits);
  Say(err, "caisson: limit reached: " + std::string(ToString(reason)));
  if (advice.option.empty()) return err.Write("\n");
  err.Write(" (" + advice.value + std::string(advice.unit) + ")");
  Raise(err, advice);
}

void ReportTruncated(std::string_view stream, const Advice& advice, Output& err) {
  Say(err, "caisson: " + std::string(stream) + " was cut off after " + advice.value + " bytes");
  Raise(err, advice);
}

void ReportError(const RunError& error, Output& err) {
  err.FinishLine();
  if (!error.traceback.empty()) {
    err.WriteGuest(error.traceback);
  } else {
    err.WriteGuest(error.type + (error.message.empty() ? "" : ": " + error.message));
  }
  err.FinishLine();
}

void ReportFinding(const Finding& finding, Output& err) {
  Say(err, "caisson: refused");
  if (finding.line > 0) {
    err.Write(", line " + std::to_string(finding.line) + ", column " +
              std::to_string(finding.column));
  }
  err.Write(": ");
  err.WriteGuest(finding.message + (finding.hint.empty() ? "" : " (" + finding.hint + ")"));
  err.FinishLine();
}

void ReportFile(const OutcomeFile& file, Output& err) {
  Say(err, "file: ");
  err.WriteGuest(file.path);
  err.Write(" " + file.change);
  if (file.change != "deleted") err.Write(" " + std::to_string(file.size) + " bytes");
  if (!file.omitted.empty()) err.WriteGuest(", left out: " + file.omitted);
  err.FinishLine();
}

void ReportValue(const Outcome& outcome, Output& out) {
  if (!outcome.result && !outcome.result_repr) return;
  out.FinishLine();
  if (outcome.result_repr) {
    out.WriteGuest(*outcome.result_repr);
  } else {
    const auto json = ToJson(*outcome.result);
    out.WriteGuest(json ? *json : json.error().message());
  }
  out.WriteGuest("\n");
}

void ReportWaiting(const Outcome& outcome, Output& err) {
  for (const OutcomeApproval& approval : outcome.approvals) {
    Say(err, "caisson: a call of ");
    err.WriteGuest(approval.tool);
    err.Write(" waits for an approval: caisson approvals show|approve|deny " + approval.id + "\n");
  }
  Say(err, "caisson: then go on with: caisson runs resume " + outcome.run_id +
               " (each with the same --config)\n");
}

}  // namespace

void ReportOutcome(const Outcome& outcome, const Limits& limits, Output& out, Output& err) {
  out.FinishGuest();
  err.FinishGuest();
  ReportValue(outcome, out);
  if (outcome.error) ReportError(*outcome.error, err);
  for (const Finding& finding : outcome.findings) ReportFinding(finding, err);
  for (const OutcomeFile& file : outcome.files) ReportFile(file, err);
  if (outcome.stdout_truncated) {
    ReportTruncated("stdout", CountAdvice("stdout_bytes", "", &Limits::stdout_bytes, limits), err);
  }
  if (outcome.stderr_truncated) {
    ReportTruncated("stderr", CountAdvice("stderr_bytes", "", &Limits::stderr_bytes, limits), err);
  }
  if (outcome.status == RunStatus::kLimit) ReportLimit(outcome.reason, limits, err);
  if (outcome.status == RunStatus::kWaiting) ReportWaiting(outcome, err);
  if (outcome.status == RunStatus::kCancelled) Say(err, "caisson: cancelled\n");
  const std::string& tier = outcome.boundary.tier;
  if (!tier.empty() && tier != kDefaultTier && outcome.status != RunStatus::kRejected) {
    Say(err, "caisson: ran in tier " + tier + ", which is weaker than the default\n");
  }
}

}  // namespace caisson::cli
