#include <memory>
#include <string>
#include <utility>

#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/source_input.h"
#include "cli/tell.h"
#include "identity/local_resolver.h"
#include "server/single_run.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson check task.py
  echo 'import numpy' | caisson check --json    names the engine that would run it

Nothing is executed. Exit status: 0 if the code would be run, 1 if it would be refused.)";

struct CheckFlags {
  std::string file;
  bool json = false;
  CodeFlags code;
};

// Returns the engine that would run the code; nullopt: the code would be refused.
Value EngineFor(const Outcome& outcome) {
  if (!outcome.findings.empty()) return {};
  return std::string(outcome.native_modules.empty() ? "wasm" : "native");
}

Value FindingFields(const Finding& finding) {
  Dict fields;
  fields.items = {{Value(std::string("rule")), Value(finding.rule)},
                  {Value(std::string("message")), Value(finding.message)},
                  {Value(std::string("line")), Value(finding.line)},
                  {Value(std::string("column")), Value(finding.column)},
                  {Value(std::string("hint")), Value(finding.hint)}};
  return fields;
}

std::string ToJsonLine(const Outcome& outcome) {
  List findings;
  for (const Finding& finding : outcome.findings) findings.items.push_back(FindingFields(finding));
  List imports;
  for (const std::string& name : outcome.imports) imports.items.emplace_back(name);
  Dict fields;
  fields.items = {{Value(std::string("clean")), Value(outcome.findings.empty())},
                  {Value(std::string("findings")), Value(std::move(findings))},
                  {Value(std::string("imports")), Value(std::move(imports))},
                  {Value(std::string("engine")), EngineFor(outcome)}};
  auto text = ToJson(Value(std::move(fields)));
  return (text ? *std::move(text) : std::string("null")) + "\n";
}

// "task.py:3:7: eval is not allowed (parse the text with ast.literal_eval)", as compilers do.
void WriteFindings(const CheckFlags& flags, const Outcome& outcome, Output& out) {
  const std::string name = flags.file.empty() || flags.file == "-" ? "<stdin>" : flags.file;
  for (const Finding& finding : outcome.findings) {
    out.Write(name + ":");
    if (finding.line > 0) {
      out.Write(std::to_string(finding.line) + ":" + std::to_string(finding.column) + ":");
    }
    out.Write(" ");
    out.WriteGuest(finding.message + (finding.hint.empty() ? "" : " (" + finding.hint + ")"));
    out.FinishLine();
  }
}

void WriteClean(const Outcome& outcome, Output& out) {
  if (outcome.native_modules.empty()) return out.Write("clean: would run in engine wasm\n");
  out.Write("clean: would run in engine native, for");
  for (const std::string& module : outcome.native_modules) out.WriteGuest(" " + module);
  out.FinishLine();
}

Result<Outcome> Check(const CheckFlags& flags) {
  TRY_ASSIGN(CodeServiceOptions options, ToServiceOptions(flags.code));
  const Limits& limits = options.setting.limits;
  TRY_ASSIGN(std::string code, ReadSource(flags.file, limits.code_bytes));
  if (code.size() > limits.code_bytes) {
    return RefusedForLength(limits, {.engine = "wasm", .tier = options.backend.tier});
  }
  TRY_ASSIGN(const auto host, OpenHost(flags.code, std::move(options)));
  TRY_ASSIGN(RunView checked, SingleRun(host->runs(), IsolationKey(LocalIdentity()))
                                  .Perform({.code = std::move(code),
                                            .approvals = Approvals::kNone,
                                            .purpose = Purpose::kCheck},
                                           [](OutputStream, std::string_view) {}));
  return std::move(checked.outcome);
}

int RunCheck(const CheckFlags& flags) {
  const auto outcome = Check(flags);
  if (!outcome) {
    Output::Stderr().Write("caisson: " + outcome.error().message() + "\n");
    return ExitStatus(outcome.error().code());
  }
  Output out = Output::Stdout();
  const bool judged =
      outcome->status == RunStatus::kCompleted || outcome->status == RunStatus::kRejected;
  if (!judged) {
    Output::Stderr().Write(
        "caisson: the code could not be checked: " + std::string(ToString(outcome->reason)) + "\n");
  } else if (flags.json) {
    out.Write(ToJsonLine(*outcome));
  } else if (outcome->findings.empty()) {
    WriteClean(*outcome, out);
  } else {
    WriteFindings(flags, *outcome, out);
  }
  const bool clean = judged && outcome->findings.empty();
  return AfterWriting(out, clean ? kExitCompleted : kExitCodeFailed);
}

}  // namespace

void AddCheckCommand(Command program) {
  auto flags = std::make_shared<CheckFlags>();  // Shared by the parser and the callback.
  Command command = program.AddSubcommand(
      "check", "Judge code without running it: whether it would run, and in which engine");
  command.SetFooter(kExamples);
  command.AddOption("FILE", flags->file, "The code to check; - or no FILE: read stdin");
  command.AddFlag("--json", flags->json, "Print the findings as one line of JSON");
  AddCodeFlags(command, flags->code);
  command.OnChosen([flags] { return RunCheck(*flags); });
}

}  // namespace caisson::cli
