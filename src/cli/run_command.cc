#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/source_input.h"
#include "cli/terminal_question.h"
#include "identity/local_resolver.h"
#include "runs/door_caller.h"
#include "server/code_service.h"
#include "server/host.h"
#include "server/single_run.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson run task.py
  echo 'print("hi"); 6*7' | caisson run
  caisson run --limit memory_bytes=1073741824 --limit wall_seconds=60 task.py
  caisson run --output results task.py          keeps what the code wrote to /output
  caisson run --mount data:/input task.py       shows it a directory, read-only
  caisson run --config caisson.toml task.py     with the tools of a configuration

What the code prints appears as it comes, then the value of its last expression, as JSON.
With a configured [store] and no terminal to ask at, a call that needs approval waits there: exit
status 3, and the commands that continue it.
Limits: wall_seconds cpu_seconds memory_bytes processes open_files code_bytes stdout_bytes
stderr_bytes result_bytes file_bytes total_file_bytes files tool_calls.)";

struct RunFlags {
  std::string file;
  ReportFlags report;
  CodeFlags code;
};

// One execution of the command, step by step; what a step opens stays for the later ones.
class RunCommand {
 public:
  explicit RunCommand(const RunFlags& flags) : flags_(flags) {}

  int Execute() {
    if (auto ready = Prepare(); !ready) return Fail(ready.error(), kExitUsage);
    // Before there is an engine: what it would have run in is known all the same.
    if (code_.size() > limits().code_bytes) return Finish(RefusedForLength(limits(), Unopened()));
    return RunCode();
  }

 private:
  Result<void> Prepare();
  int RunCode();
  HostOptions::Keeps Keeps() const;
  void OnOutput(SingleRun& run, OutputStream stream, std::string_view bytes);
  int Finish(const Outcome& outcome);
  int Fail(const Error& error, int exit_status);
  const Limits& limits() const { return options_.setting.limits; }
  Boundary Unopened() const {
    const std::string& engine = options_.backend.engine;
    return {.engine = engine == "native" ? engine : "wasm", .tier = options_.backend.tier};
  }

  const RunFlags& flags_;
  Output out_ = Output::Stdout();
  Output err_ = Output::Stderr();
  CodeServiceOptions options_;
  std::string code_;
  std::optional<RunReport> report_;
  Approvals approvals_ = Approvals::kAsk;
  std::optional<TerminalQuestion> question_;
  Guarded<SingleRun*> running_{nullptr};
  Interrupts interrupts_;  // Goes first: it uses what is above.
};

Result<void> RunCommand::Prepare() {
  TRY_ASSIGN(options_, ToServiceOptions(flags_.code));
  TRY_ASSIGN(approvals_, ToApprovals(flags_.code));
  TRY_ASSIGN(question_, TerminalQuestion::Make());
  TRY_ASSIGN(report_, RunReport::Open(flags_.report, {.config = flags_.code.config}));
  const bool from_stdin = flags_.file.empty() || flags_.file == "-";
  if (from_stdin && ::isatty(STDIN_FILENO) == 1) {
    err_.Write("caisson: reading Python from the terminal; end it with Ctrl-D\n");
  }
  TRY_ASSIGN(code_, ReadSource(flags_.file, limits().code_bytes));
  return {};
}

void RunCommand::OnOutput(SingleRun& run, OutputStream stream, std::string_view bytes) {
  if (flags_.report.json) return;
  (stream == OutputStream::kStdout ? out_ : err_).WriteGuest(bytes);
  if (out_.failed() != 0) run.Cancel();  // Nobody reads any more.
}

int RunCommand::RunCode() {
  const auto stop = [this] {
    // Held, so that the run cannot go meanwhile; Cancel only posts.
    auto running = running_.Lock();
    if (*running != nullptr) (*running)->Cancel();
    question_->GiveUp();
  };
  if (auto listening = interrupts_.Listen(stop); !listening) {
    return Fail(listening.error(), kExitOurFault);
  }
  const auto host = OpenHost(flags_.code, options_, Keeps());
  if (!host) return Fail(host.error(), ExitStatus(host.error().code()));
  SingleRun run((*host)->runs(), IsolationKey(LocalIdentity()));
  *running_.Lock() = &run;
  if (interrupts_.signal() != 0) run.Cancel();  // It came before there was anything to cancel.
  const auto view = run.Perform(
      {.code = std::move(code_),
       .caller =
           std::make_shared<const CallerContext>(LocalCaller((*host)->code().caller_host(), "cli")),
       .approvals = approvals_},
      [&](OutputStream stream, std::string_view bytes) { OnOutput(run, stream, bytes); },
      [&](const StoredApproval& approval) { return question_->Ask(approval); },
      (*host)->keeps_runs() ? SingleRun::Asks::kIfLost : SingleRun::Asks::kAtOnce);
  *running_.Lock() = nullptr;
  return view ? Finish(view->outcome) : Fail(view.error(), ExitStatus(view.error().code()));
}

// A run waits in the configured store if nobody can be asked here. The store does not have what the
// command line says besides the limits: the process that resumes the run knows the configuration
// alone.
HostOptions::Keeps RunCommand::Keeps() const {
  const CodeFlags& flags = flags_.code;
  const bool only_config = flags.mounts.empty() && flags.environment.empty() &&
                           flags.policy.empty() && flags.engine.empty() && flags.tier.empty();
  const bool is_stored =
      approvals_ == Approvals::kAsk && only_config && !TerminalQuestion::IsPossible();
  return is_stored ? HostOptions::Keeps::kRunsThatMayAsk : HostOptions::Keeps::kNothing;
}

int RunCommand::Finish(const Outcome& outcome) {
  const int status =
      report_->Tell(outcome, {.given = limits(), .most = options_.setting.ceiling}, out_, err_);
  if (outcome.status == RunStatus::kCancelled && interrupts_.signal() != 0) {
    return kExitSignalBase + interrupts_.signal();
  }
  return status;
}

int RunCommand::Fail(const Error& error, int exit_status) {
  err_.Write("caisson: " + error.message() + "\n");
  return exit_status;
}

}  // namespace

void AddRunCommand(Command program) {
  auto flags = std::make_shared<RunFlags>();  // Shared by the parser and the callback.
  Command command =
      program.AddSubcommand("run", "Run Python code in a fresh, isolated interpreter");
  command.SetFooter(kExamples);
  command.AddOption("FILE", flags->file, "The code to run; - or no FILE: read stdin");
  AddReportFlags(command, flags->report);
  AddCodeFlags(command, flags->code);
  AddApproveFlag(command, flags->code);
  command.OnChosen([flags] { return RunCommand(*flags).Execute(); });
}

}  // namespace caisson::cli
