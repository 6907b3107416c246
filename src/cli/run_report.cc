#include "cli/run_report.h"

#include <string>
#include <utility>

#include "cli/exit_status.h"
#include "cli/tell.h"
#include "server/backends.h"

namespace caisson::cli {
namespace {

// Our own text begins on a new line, even if the guest left a line unfinished.
void Say(Output& err, const std::string& text) {
  err.FinishLine();
  err.Write(text);
}

// The name of a limit on the command line, and the unit of its value.
struct NamedLimit {
  std::string_view name{};
  std::string_view unit{};
};

NamedLimit LimitOf(RunReason reason) {
  switch (reason) {
    case RunReason::kWallTime:
      return {"wall_seconds", " s"};
    case RunReason::kCpuTime:
      return {"cpu_seconds", " s"};
    case RunReason::kMemory:
      return {"memory_bytes", " bytes"};
    case RunReason::kResult:
      return {"result_bytes", " bytes"};
    case RunReason::kFiles:
      return {"files", " files"};
    case RunReason::kToolCalls:
      return {"tool_calls", " calls"};
    default:
      return {};
  }
}

void Raise(Output& err, std::string_view name, const ReportedLimits& limits) {
  const std::string limit(name);
  const std::string most = LimitText(limits.most, name);
  if (LimitText(limits.given, name) == most) {
    return err.Write("; this is the maximum of every run (limits.max." + limit + ")\n");
  }
  err.Write("; raise it with --limit " + limit + "=N (at most " + most + ")\n");
}

void ReportLimit(RunReason reason, const ReportedLimits& limits, Output& err) {
  const auto [name, unit] = LimitOf(reason);
  Say(err, "caisson: limit reached: " + std::string(ToString(reason)));
  if (name.empty()) return err.Write("\n");
  err.Write(" (" + LimitText(limits.given, name) + std::string(unit) + ")");
  Raise(err, name, limits);
}

void ReportTruncated(const std::string& stream, const ReportedLimits& limits, Output& err) {
  const std::string name = stream + "_bytes";
  Say(err, "caisson: " + stream + " was cut off after " + LimitText(limits.given, name) + " bytes");
  Raise(err, name, limits);
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

// Quotes a word for a POSIX shell.
std::string ShellWord(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Option(std::string_view name, const std::optional<std::string>& value) {
  return value ? " " + std::string(name) + " " + ShellWord(*value) : "";
}

std::optional<std::string> IfGiven(const std::string& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

std::string Arguments(const StoreFlags& store) {
  return Option("--config", IfGiven(store.config)) + Option("--tenant", store.tenant) +
         Option("--user", store.user) + Option("--chat", store.chat);
}

std::string Arguments(const ReportFlags& flags) {
  return Option("--output", IfGiven(flags.output)) + (flags.json ? " --json" : "") +
         (flags.file_data ? " --file-data" : "");
}

}  // namespace

void AddReportFlags(Command command, ReportFlags& flags) {
  command.AddFlag("--json", flags.json, "Print only the outcome, as one line of JSON");
  command.AddFlag("--file-data", flags.file_data,
                  "With --json: include the contents of captured files, in base64");
  command.AddOption("--output", flags.output, "Save the files of /output into this directory",
                    {.value = "DIR"});
}

void ReportOutcome(const Outcome& outcome, const ReportedLimits& limits, Output& out, Output& err) {
  out.FinishGuest();
  err.FinishGuest();
  ReportValue(outcome, out);
  if (outcome.error) ReportError(*outcome.error, err);
  for (const Finding& finding : outcome.findings) ReportFinding(finding, err);
  for (const OutcomeFile& file : outcome.files) ReportFile(file, err);
  if (outcome.stdout_truncated) {
    ReportTruncated("stdout", limits, err);
  }
  if (outcome.stderr_truncated) {
    ReportTruncated("stderr", limits, err);
  }
  if (outcome.status == RunStatus::kLimit) ReportLimit(outcome.reason, limits, err);
  if (outcome.status == RunStatus::kCancelled) Say(err, "caisson: cancelled\n");
  const std::string& tier = outcome.boundary.tier;
  if (!tier.empty() && tier != kDefaultTier && outcome.status != RunStatus::kRejected) {
    Say(err, "caisson: ran in tier " + tier + ", which is weaker than the default\n");
  }
}

Result<RunReport> RunReport::Open(ReportFlags flags, StoreFlags store) {
  RunReport report(std::move(flags), std::move(store));
  if (!report.flags_.output.empty()) {
    TRY_ASSIGN(report.directory_, OutputDirectory::Open(report.flags_.output));
  }
  return report;
}

int RunReport::Tell(const Outcome& outcome, const ReportedLimits& limits, Output& out,
                    Output& err) const {
  if (flags_.json) {
    out.Write(ToJson(outcome, flags_.file_data ? FileData::kInclude : FileData::kOmit) + "\n");
  } else {
    ReportOutcome(outcome, limits, out, err);
  }
  if (outcome.status == RunStatus::kWaiting) TellWaiting(outcome, err);
  const auto saved = SaveFiles(outcome);
  if (!saved) err.WriteGuest("caisson: " + saved.error().message() + "\n");
  const int status = ExitStatus(outcome.status);
  return AfterWriting(out, status == kExitCompleted && !saved ? kExitUsage : status);
}

Result<void> RunReport::SaveFiles(const Outcome& outcome) const {
  if (!directory_) return {};
  for (const OutcomeFile& file : outcome.files) {
    if (file.change == "deleted" || !file.omitted.empty()) continue;
    TRY(directory_->Save(file.path, file.contents));
  }
  return {};
}

void RunReport::TellWaiting(const Outcome& outcome, Output& err) const {
  for (const OutcomeApproval& approval : outcome.approvals) {
    Say(err, "caisson: a call of ");
    err.WriteGuest(approval.tool);
    err.Write(" waits for an approval: caisson approvals approve " + approval.id +
              Arguments(store_) + " (or show, deny)\n");
  }
  Say(err, "caisson: then continue with: caisson runs resume " + outcome.run_id +
               Arguments(store_) + Arguments(flags_) + "\n");
}

}  // namespace caisson::cli
