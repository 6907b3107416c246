#include "runs/cells/code_runner.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <variant>

#include "base/run_on.h"
#include "base/spawn.h"
#include "workspace/workspace.h"

namespace caisson {
namespace {

CodeRun Lost(const std::string& name, const std::string& why) {
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kFailed;
  outcome.reason = RunReason::kLost;
  outcome.error = RunError{
      .type = "SessionLost",
      .message = "session \"" + name + "\" was lost: " + why +
                 ". Nothing was executed. Its variables are gone: begin it afresh with restart, or "
                 "use another name"};
  return {.outcome = std::move(outcome), .session = SessionFate::kLost};
}

RunRequest ToRunRequest(CellRun& request) {
  const CodeSetting& setting = *request.setting;
  RunRequest run{.code = std::move(request.code),
                 .limits = request.limits.value_or(setting.limits)};
  run.signatures = setting.tools->signatures();
  run.files = setting.files;
  run.files.insert(run.files.end(), request.inputs.begin(), request.inputs.end());
  run.environment = setting.environment;
  run.policy = EncodePolicy(setting.policy);
  run.purpose = request.purpose;
  if (request.resume) {
    run.recording = request.resume->recording;
    run.spare_wall_time = request.resume->spare_wall_time;
  }
  return run;
}

CellKey KeyOf(const CellRun& request) {
  const Limits& limits = request.limits ? *request.limits : request.setting->limits;
  return {.owner = request.owner,
          .mounts = request.setting->mounts,
          .processes = limits.processes,
          .total_file_bytes = limits.total_file_bytes,
          .files = limits.files};
}

// Runs the code in the cell, on the cell's executor, and waits for the calls it left under way.
asio::awaitable<Result<Outcome>> RunInCell(Cell& cell, CellRun& request, AfterRun after,
                                           RunRequest run, std::optional<SessionId> session,
                                           std::optional<asio::any_io_executor> cpu_pool) {
  co_await asio::this_coro::throw_if_cancelled(false);  // The outcome says that it was cancelled.
  // Whoever cancelled while there was no cell yet has done so once and for all.
  if (co_await IsCancelled()) co_return Error(ErrorCode::kCancelled, "cancelled before it began");
  ResumeState resume = std::move(request.resume).value_or(ResumeState{});
  const auto on_sleep = [observer = resume.observer](std::optional<HostTime> until) {
    if (observer) observer->OnSleep(until);
  };
  ToolBridge bridge(cell, request.setting->tools,
                    {.pool = std::move(cpu_pool),
                     .consent = request.consent,
                     .on_output = std::move(request.on_output),
                     .on_progress = std::move(request.on_progress),
                     .on_sleep = on_sleep,
                     .trace = std::move(request.trace),
                     .caller = std::move(request.caller),
                     .journal = resume.journal});
  if (resume.observer) resume.observer->OnCell(cell, session);
  if (resume.saved) bridge.Reopen(std::move(resume.calls));
  auto going =
      resume.saved ? cell.Continue(bridge, after) : cell.Run(std::move(run), bridge, after);
  auto outcome = co_await std::move(going);
  if (resume.observer) resume.observer->OnEnd(outcome);
  co_await bridge.Close();
  if (outcome) bridge.Explain(outcome->calls);
  if (resume.observer) co_await resume.observer->LetGo();
  co_return outcome;
}

// Of a run that continues from a saved cell.
Limits RestoredLimits(const CellRun& request) {
  Limits limits = request.limits.value_or(request.setting->limits);
  limits.wall_time += request.resume->spare_wall_time;
  return limits;
}

std::string WhyLost(const Outcome& outcome) {
  return outcome.run_id + " ended as " + std::string(ToString(outcome.status)) + " (" +
         std::string(ToString(outcome.reason)) + ") and took its state along";
}

}  // namespace

// A run that Close() knows of and waits for.
class CodeRunner::Registration {
 public:
  Registration(CodeRunner& runner, Stop stop) : runner_(runner), pass_(runner.gate_.Enter()) {
    auto running = runner_.running_.Lock();
    if (running->closed || !pass_) return;
    place_ = running->stops.insert(running->stops.end(), std::move(stop));
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    if (place_) runner_.running_.Lock()->stops.erase(*place_);
  }

  explicit operator bool() const { return place_.has_value(); }

 private:
  CodeRunner& runner_;
  const std::optional<ShutdownGate::Pass> pass_;  // Given back last.
  std::optional<std::list<Stop>::iterator> place_;
};

CodeRun CancelledRun() {
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kCancelled;
  outcome.reason = RunReason::kKilled;
  return {.outcome = std::move(outcome)};
}

Outcome RefusedForLength(const Limits& limits, Boundary boundary) {
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kRejected;
  outcome.reason = RunReason::kPolicy;
  outcome.findings.push_back(
      {.rule = "code_bytes",
       .message = "the code is longer than " + std::to_string(limits.code_bytes) + " bytes",
       .line = 0,
       .column = 0,
       .hint = "shorten it, or raise the limit code_bytes"});
  outcome.boundary = std::move(boundary);
  return outcome;
}

asio::awaitable<Result<std::shared_ptr<HostFiles>>> CodeRunner::OpenMounts(
    std::shared_ptr<const CodeSetting> setting) {
  if (setting->mounts.empty()) co_return std::shared_ptr<HostFiles>();
  if (!options_.pool) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    "mounts need CodeRunnerOptions::pool, threads that may wait for the disk");
  }
  auto opened = co_await CallOn(*options_.pool, [&] {
    return workspace::Workspace::Open(setting->mounts,
                                      {.pool = *options_.pool, .hidden = options_.hidden});
  });
  if (!opened) co_return std::move(opened).error();
  co_return std::shared_ptr<HostFiles>(*std::move(opened));
}

asio::awaitable<CodeRunner::Opened> CodeRunner::OpenDirect(const CellRun& request) {
  const asio::any_io_executor strand = co_await asio::this_coro::executor;  // Of Run().
  const bool saved = request.resume && request.resume->saved;
  co_return Opened{.cell = saved ? RestoreDirectCell(strand, *request.call, RestoredLimits(request))
                                 : MakeDirectCell(strand, *request.call),
                   .host_files = nullptr};
}

asio::awaitable<Result<CodeRunner::Opened>> CodeRunner::Open(const CellRun& request) {
  if (request.call) co_return co_await OpenDirect(request);
  // Also for a prepared cell: what is shown is what is there now, checked now.
  auto host_files = co_await OpenMounts(request.setting);
  if (!host_files) co_return std::move(host_files).error();
  OpenOptions options{.owner = request.owner, .wait = request.wait, .host_files = *host_files};
  const bool saved = request.resume && request.resume->saved;
  if (!saved && !cells_.empty()) options.prepared = cells_.Take(KeyOf(request));
  auto opening = saved ? Restore(request, std::move(options)) : engine_.Open(std::move(options));
  auto cell = co_await std::move(opening);
  if (cell && co_await IsCancelled()) {
    const asio::any_io_executor executor = (*cell)->executor();
    asio::post(executor, [unused = *std::move(cell)] {});  // It goes where it lives.
    co_return Error(ErrorCode::kCancelled, "cancelled before it began");
  }
  if (!cell) co_return std::move(cell).error();
  co_return Opened{.cell = *std::move(cell), .host_files = *std::move(host_files)};
}

// On the cell's executor, when its first run has ended.
void CodeRunner::Foresee(const Cell& cell, const CellRun& request,
                         std::shared_ptr<HostFiles> host_files) {
  auto preparation = cell.preparation();
  if (!preparation) return;
  preparation->host_files = std::move(host_files);
  cells_.Foresee(KeyOf(request), *std::move(preparation), cell.executor());
}

asio::awaitable<Result<std::unique_ptr<Cell>>> CodeRunner::Restore(const CellRun& request,
                                                                   OpenOptions options) {
  return engine_.Restore(std::move(options), *request.resume->saved, RestoredLimits(request));
}

asio::awaitable<Result<CodeRun>> CodeRunner::RunFresh(CellRun request) {
  auto opened = co_await Open(request);
  if (!opened) co_return std::move(opened).error();
  // Cells are touched on their own executor alone, at their end too.
  const auto run = [&]() -> asio::awaitable<Result<Outcome>> {
    const std::unique_ptr<Cell> own = std::move(opened->cell);
    auto outcome = co_await RunInCell(*own, request, AfterRun::kDiscard, ToRunRequest(request),
                                      std::nullopt, options_.cpu_pool);
    if (outcome) Foresee(*own, request, std::move(opened->host_files));
    co_return outcome;
  };
  auto outcome = co_await RunOn(opened->cell->executor(), run());
  if (!outcome) co_return std::move(outcome).error();
  co_return CodeRun{.outcome = *std::move(outcome)};
}

asio::awaitable<Result<CodeRun>> CodeRunner::RunInSession(CellRun request) {
  const SessionRequest session = *request.session;
  if (session.fork_of) {
    auto forked = co_await Fork({request.owner, *session.fork_of}, session.name, request.setting);
    if (!forked) co_return std::move(forked).error();
  }
  auto entered = co_await sessions_.Enter({request.owner, session.name}, session.restart);
  if (!entered) co_return std::move(entered).error();
  if (const auto* lost = std::get_if<SessionLost>(&*entered)) {
    co_return Lost(session.name, lost->why);
  }
  auto& turn = std::get<SessionRegistry::Turn>(*entered);
  const bool first = turn.cell() == nullptr;
  std::shared_ptr<HostFiles> host_files;
  if (first) {
    auto opened = co_await Open(request);
    if (!opened) co_return std::move(opened).error();
    turn.Adopt(std::move(opened->cell));
    host_files = std::move(opened->host_files);
  }
  Cell& cell = *turn.cell();
  std::optional<Result<Outcome>> outcome;
  bool kept = false;
  const auto work = [&]() -> asio::awaitable<void> {
    if (!first && !cell.holds_state()) co_return;  // Its worker died while nobody looked.
    RunRequest run = ToRunRequest(request);
    if (!first) run.files.clear();  // They are there since the first run.
    outcome = co_await RunInCell(cell, request, AfterRun::kKeep, std::move(run), turn.id(),
                                 options_.cpu_pool);
    kept = cell.holds_state();
    if (first && *outcome) Foresee(cell, request, std::move(host_files));
  };
  co_await RunOn(cell.executor(), work());
  if (!outcome) {
    const std::string why = "its interpreter died";
    turn.End(why);
    co_return Lost(session.name, why);
  }
  if (!*outcome) {
    if (!kept) turn.End(first ? std::nullopt : std::optional("it could not go on"));
    co_return std::move(*outcome).error();
  }
  CodeRun run{.outcome = **std::move(outcome), .session = SessionFate::kKept};
  if (!kept) {
    turn.End(WhyLost(run.outcome));
    run.session = SessionFate::kLost;
  }
  co_return run;
}

asio::awaitable<Result<CodeRun>> CodeRunner::RunUntilStopped(CellRun request) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const bool in_session = request.session.has_value();
  auto run = in_session ? RunInSession(std::move(request)) : RunFresh(std::move(request));
  auto result = co_await std::move(run);
  if (!result && result.error().code() == ErrorCode::kCancelled) co_return CancelledRun();
  co_return result;
}

asio::awaitable<Result<CodeRun>> CodeRunner::Run(CellRun request) {
  const Limits& limits = request.limits ? *request.limits : request.setting->limits;
  if (auto good = CheckLimits(limits, request.setting->ceiling); !good) {
    co_return std::move(good).error();
  }
  const Stop stop(asio::make_strand(co_await asio::this_coro::executor));
  const Registration registration(*this, stop);
  if (!registration)
    co_return Error(ErrorCode::kUnavailable, "shutting down: new runs are not accepted");
  if (request.code.size() > limits.code_bytes) co_return CodeRun{RefusedForLength(limits)};
  co_return co_await RunOn(stop, RunUntilStopped(std::move(request)));
}

asio::awaitable<Result<void>> CodeRunner::Fork(SessionKey from, std::string to,
                                               std::shared_ptr<const CodeSetting> setting) {
  const auto pass = gate_.Enter();
  if (!pass) co_return Error(ErrorCode::kUnavailable, "shutting down: sessions are not accepted");
  auto host_files = co_await OpenMounts(setting);
  if (!host_files) co_return std::move(host_files).error();
  co_return co_await sessions_.Fork(
      std::move(from), std::move(to),
      {.host_files = *std::move(host_files), .limits = setting->limits});
}

asio::awaitable<void> CodeRunner::Close() {
  std::list<Stop> stops;
  {
    auto running = running_.Lock();
    running->closed = true;
    stops = running->stops;
  }
  cells_.Shut();
  for (const auto& stop : stops) stop.Request();
  co_await gate_.Close();
  co_await sessions_.Close();
  co_await cells_.Close();
}

}  // namespace caisson
