#include "bench/resuming.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "approval/desk.h"
#include "approval/key_ring.h"
#include "base/run_on.h"
#include "bench/lane_work.h"
#include "runs/journaled_runs.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson::bench {
namespace {

// The first restore starts the owner's own worker.
constexpr int kWarmUpRuns = 5;

std::shared_ptr<const CodeSetting> AskingSetting(std::int64_t& effects) {
  auto ask = Tool::Make({.name = "ask", .approval = Approval::Always()},
                        Inline([&effects](const Dict&) { return Value(++effects); }));
  CodeSetting setting;
  setting.tools = std::make_shared<const ToolSet>(std::vector{*std::move(ask)});
  return std::make_shared<const CodeSetting>(std::move(setting));
}

// A service over the engine whose runs wait in memory for at most `keep_parked`.
class Service {
 public:
  Service(Engine& engine, std::unique_ptr<Store> store, std::chrono::nanoseconds keep_parked)
      : store_(std::move(store)),
        runner_(engine),
        runs_({.engine = engine,
               .runner = runner_,
               .store = *store_,
               .desk = desk_,
               .notifier = notifier_,
               .keys = keys_,
               .executor = context_.get_executor(),
               .setting = AskingSetting(effects_),
               .settings = {.keep_parked = keep_parked}}) {}
  ~Service() {
    Wait(runs_.Close());
    Wait(runner_.Close());
    work_.reset();
    thread_.join();
  }

  // Returns the time from the approval to the end.
  Result<double> Once() {
    TRY_ASSIGN(const RunView asking, Wait(runs_.Start(owner_, {.code = "1 + ask()"})));
    if (asking.outcome.approvals.size() != 1) {
      return Error(ErrorCode::kInternal, "the run did not ask for an approval");
    }
    const ApprovalId approval(asking.outcome.approvals[0].id);
    const auto begin = Clock::now();
    TRY_ASSIGN(const RunView ended, Wait(DecideAndAwait(asking.id, approval)));
    const auto took = Clock::now() - begin;
    TRY(ExpectResult(ended.outcome, Value(effects_ + 1)));
    return Microseconds(took);
  }

  // Returns the time that the store alone takes for it.
  Result<double> StoreAlone() {
    const RunId run(NewRunId());
    TRY_ASSIGN(const Lease lease, Wait(MakeWaiting(run)));
    const auto begin = Clock::now();
    TRY(Wait(GoThrough(run, lease)));
    return Microseconds(Clock::now() - begin);
  }

 private:
  static constexpr std::size_t kSealedBytes = 24'000;  // The size of a small saved run.

  // The rows of a run that waits for one call.
  asio::awaitable<Result<Lease>> MakeWaiting(RunId run) {
    const SystemTime now = clock_.Now();
    const SystemTime later = now + std::chrono::hours(1);
    auto lease = co_await store_->runs().Create(owner_, {.id = run},
                                                {.holder = "bench", .now = now, .until = later});
    if (!lease) co_return lease;
    auto begun = co_await store_->runs().BeginCall(
        owner_, run, *lease, {.tool = "ask", .state = CallState::kPending}, now);
    if (!begun) co_return std::move(begun).error();
    auto asked = co_await store_->approvals().Create(owner_,
                                                     {.id = ApprovalIdOf(run, 0),
                                                      .binding = {.run = run, .tool = "ask"},
                                                      .arguments = "{}",
                                                      .created_at = now,
                                                      .expires_at = later},
                                                     1'000'000);
    if (!asked) co_return std::move(asked).error();
    auto waits = co_await store_->runs().Wait(
        owner_, run, *lease, SavedRun{.sealed = std::string(kSealedBytes, 'x')}, now);
    if (!waits) co_return std::move(waits).error();
    co_return lease;
  }

  asio::awaitable<Result<void>> GoThrough(RunId run, Lease lease) {
    const ApprovalId approval = ApprovalIdOf(run, 0);
    const SystemTime now = clock_.Now();
    auto decided = co_await store_->approvals().Decide(
        owner_, approval, {.verdict = ApprovalState::kApproved, .by = "bench", .at = now});
    if (!decided) co_return std::move(decided).error();
    RunStore& runs = store_->runs();
    auto done = co_await runs.StartCall(owner_, run, lease, 0, approval, now);
    if (done) {
      done = co_await runs.FinishCall(owner_, run, lease, 0, CallState::kReturned, "1", now);
    }
    if (done) {
      auto end = std::make_shared<const RunEnd>(RunEnd{.outcome = "outcome"});
      done = co_await runs.Finish(owner_, run, lease, std::move(end), now);
    }
    co_return done;
  }

  template <typename T>
  T Wait(asio::awaitable<T> work) {
    return WaitFor(context_.get_executor(), std::move(work));
  }
  asio::awaitable<Result<RunView>> DecideAndAwait(RunId run, ApprovalId approval) {
    auto decided = co_await runs_.Decide(owner_, approval,
                                         {.verdict = ApprovalState::kApproved, .by = "bench"});
    if (!decided) co_return std::move(decided).error();
    co_return co_await runs_.Await(owner_, std::move(run), {approval.str()},
                                   Clock::time_point::max());
  }

  std::int64_t effects_ = 0;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::thread thread_{[this] { context_.run(); }};
  const std::unique_ptr<Store> store_;
  const KeyRing keys_ = KeyRing::Generate();
  const SystemClock clock_{};
  DecisionNotifier notifier_;
  ApprovalDesk desk_{*store_, notifier_, clock_};
  CodeRunner runner_;
  JournaledRuns runs_;
  const IsolationKey owner_{Identity::None()};
};

Result<Samples> Many(Engine& engine, int runs, std::chrono::nanoseconds keep_parked,
                     Result<double> (Service::*once)()) {
  TRY_ASSIGN(auto store, OpenMemoryStore());
  Service service(engine, std::move(store), keep_parked);
  Samples samples;
  for (int i = -kWarmUpRuns; i < runs; ++i) {
    TRY_ASSIGN(const double took, (service.*once)());
    if (i >= 0) samples.push_back(took);
  }
  return samples;
}

}  // namespace

Result<Resuming> ResumeRuns(WasmEngine& engine, int runs) {
  Resuming resuming;
  constexpr std::chrono::minutes kInMemory{1};
  constexpr std::chrono::nanoseconds kAtOnce{0};
  TRY_ASSIGN(resuming.parked_us, Many(engine, runs, kInMemory, &Service::Once));
  TRY_ASSIGN(resuming.saved_us, Many(engine, runs, kAtOnce, &Service::Once));
  TRY_ASSIGN(resuming.store_us, Many(engine, runs, kInMemory, &Service::StoreAlone));
  return resuming;
}

}  // namespace caisson::bench
