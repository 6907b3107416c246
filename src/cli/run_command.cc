#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_on.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/source_input.h"
#include "identity/local_resolver.h"
#include "runs/cells/asking_keeper.h"
#include "runs/door_session.h"
#include "server/background_loop.h"
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
status 3, and the commands to go on with.
Limits: wall_seconds cpu_seconds memory_bytes processes open_files code_bytes stdout_bytes
stderr_bytes result_bytes file_bytes total_file_bytes files tool_calls.)";

struct RunFlags {
  std::string file;
  ReportFlags report;
  CodeFlags code;
};

// Returns when the run has ended, or waits in the store. One that can wait in this process's memory
// alone is told that nobody can be asked.
asio::awaitable<Result<RunView>> StartOrDeny(RunService& runs, RunSpec request) {
  const IsolationKey owner(LocalIdentity());
  auto view = co_await runs.Start(owner, std::move(request));
  while (view && view->state == RunState::kWaiting && view->saved_bytes == 0) {
    for (const OutcomeApproval& approval : view->outcome.approvals) {
      const auto denied = co_await runs.Decide(
          owner, ApprovalId(approval.id),
          {.by = "caisson run", .reason = "there is no terminal to ask at (see --approve)"});
      if (!denied) co_return denied.error();
    }
    view = co_await runs.Await(owner, view->id, ApprovalIds(*view),
                               std::chrono::steady_clock::time_point::max());
  }
  if (!view) co_return std::move(view).error();
  const RunId id = view->id;
  co_return co_await WithFiles(*std::move(view),
                               [&](std::uint32_t number) { return runs.File(owner, id, number); });
}

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
  // The configuration whose store the run can wait in, if nobody can be asked here and now.
  Result<std::optional<Config>> WhereToWait() const;
  int RunInStore(std::unique_ptr<CodeService> service, const Config& config);
  void OnOutput(SingleRun& run, OutputStream stream, std::string_view bytes);
  void ShowRest(SingleRun& run, OutputStream stream, std::string_view all);
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
  std::map<OutputStream, std::size_t> shown_;  // Bytes of each.
  std::optional<TerminalQuestion> question_;
  Guarded<SingleRun*> running_{nullptr};
  Interrupts interrupts_;  // Goes first: it uses what is above.
};

Result<void> RunCommand::Prepare() {
  TRY_ASSIGN(options_, ToServiceOptions(flags_.code));
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
  shown_[stream] += bytes.size();
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
  const auto config = WhereToWait();
  if (!config) return Fail(config.error(), kExitUsage);
  auto service = CodeService::Open(options_);
  if (!service) return Fail(service.error(), ExitStatus(service.error().code()));
  if (*config && MayAsk(*(*service)->setting()->tools)) {
    return RunInStore(*std::move(service), **config);
  }

  SingleRun run((*service)->runner());
  auto gate = ToGate(flags_.code, *question_, run.executor());
  if (!gate) return Fail(gate.error(), kExitUsage);
  *running_.Lock() = &run;
  if (interrupts_.signal() != 0) run.Cancel();  // It came before there was anything to cancel.
  const auto done = run.Perform(
      {.owner = OwnerId("local"),
       .code = std::move(code_),
       .setting = (*service)->setting(),
       .gate = *std::move(gate),
       .context =
           std::make_shared<const CallerContext>(LocalSession((*service)->sessions(), "cli"))},
      [&](OutputStream stream, std::string_view bytes) { OnOutput(run, stream, bytes); });
  *running_.Lock() = nullptr;
  return done ? Finish(done->outcome) : Fail(done.error(), ExitStatus(done.error().code()));
}

// What the command line says besides the limits is not stored, and whoever takes the run up knows
// the configuration alone.
Result<std::optional<Config>> RunCommand::WhereToWait() const {
  const CodeFlags& flags = flags_.code;
  const bool only_config = flags.mounts.empty() && flags.environment.empty() &&
                           flags.policy.empty() && flags.engine.empty() && flags.tier.empty();
  if (flags.config.empty() || flags.approve != "ask" || !only_config)
    return std::optional<Config>();
  if (TerminalQuestion::IsPossible()) return std::optional<Config>();
  TRY_ASSIGN(Config config, LoadConfig(flags.config));
  if (!config.store.is_configured || config.store.url == "memory:") return std::optional<Config>();
  return std::optional(std::move(config));
}

int RunCommand::RunInStore(std::unique_ptr<CodeService> service, const Config& config) {
  BackgroundLoop background;
  const auto host = Host::Open({.config = config,
                                .opened = std::move(service),
                                .environment = CaptureEnvironment(),
                                .executor = background.executor()});
  if (!host) return Fail(host.error(), ExitStatus(host.error().code()));
  CodeService& code = (*host)->code();
  JournaledRuns& runs = (*host)->runs();
  SingleRun run(code.runner());
  *running_.Lock() = &run;
  if (interrupts_.signal() != 0) run.Cancel();
  const auto view = run.Perform(
      {.code = std::move(code_),
       .context = std::make_shared<const CallerContext>(LocalSession(code.sessions(), "cli"))},
      [&](RunSpec request) { return StartOrDeny(runs, std::move(request)); },
      [&](OutputStream stream, std::string_view bytes) { OnOutput(run, stream, bytes); });
  *running_.Lock() = nullptr;
  WaitFor(background.executor(), runs.Close());
  if (!view) return Fail(view.error(), ExitStatus(view.error().code()));
  ShowRest(run, OutputStream::kStdout, view->outcome.stdout_text);
  ShowRest(run, OutputStream::kStderr, view->outcome.stderr_text);
  return Finish(view->outcome);
}

// What a run prints once it has waited does not come as it is printed.
void RunCommand::ShowRest(SingleRun& run, OutputStream stream, std::string_view all) {
  if (shown_[stream] < all.size()) OnOutput(run, stream, all.substr(shown_[stream]));
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
  command.AddOption("FILE", flags->file, "The code; - or nothing: from stdin");
  AddReportFlags(command, flags->report);
  AddCodeFlags(command, flags->code);
  AddApproveFlag(command, flags->code);
  command.OnChosen([flags] { return RunCommand(*flags).Execute(); });
}

}  // namespace caisson::cli
