#include "runs/live_run.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "approval/binding.h"
#include "base/run_on.h"
#include "base/spawn.h"
#include "runs/build_text.h"
#include "runs/journal/outcome_record.h"
#include "runs/resumption.h"
#include "store/ended_runs.h"

namespace caisson {
namespace {

// A cell that computes is asked again after this, whether it waits now; then twice as long each
// time, up to kAskAgainAtMost.
constexpr std::chrono::milliseconds kAskAgain{20};
constexpr std::chrono::milliseconds kAskAgainAtMost{100};
// How soon a run is tried again that could not be tried just now; and one that brought its worker
// down, after the first time. Four times as long each time after that.
constexpr std::chrono::seconds kTryAgain{1};

// Runs that have ended and wait for a store that cannot be written.
constexpr std::size_t kMostUnstored = 256;

bool MayBeTriedLater(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kResourceExhausted || code == ErrorCode::kNoSpace;
}

// Errors of a run that got no cell.
bool NeverBegan(ErrorCode code) {
  return MayBeTriedLater(code) || code == ErrorCode::kInvalidArgument;
}

std::chrono::seconds BackOff(std::uint32_t attempts) {
  return kTryAgain * (1 << 2 * std::clamp<std::uint32_t>(attempts, 1, 8)) / 4;
}

bool LostItsWorker(const Result<CodeRun>& run) {
  return run && EndedWithWorker(run->outcome);
}

std::string TooMuchToRecord() {
  return "it read its clocks more often than is recorded (" +
         std::to_string(wire::kMaxTraceBytes >> 10) + " KiB, about 100,000 readings)";
}

// How long a sleeping run has slept since it was saved. The time after it should have gone on is
// not the run's.
std::chrono::nanoseconds SleptSince(const SleepRecord& sleep, SystemTime now) {
  if (!sleep.sleeps_since || !sleep.cell.wake_at) return {};
  const SystemTime end = std::min(now, *sleep.cell.wake_at);
  return std::max(end, *sleep.sleeps_since) - *sleep.sleeps_since;
}

std::vector<RecordedCall> CallsBefore(const std::vector<StoredCall>& recorded, std::uint32_t seq) {
  std::vector<RecordedCall> calls;
  for (const StoredCall& stored : recorded) {
    if (stored.call.seq >= seq) continue;
    calls.push_back({.seq = stored.call.seq,
                     .tool = stored.call.tool,
                     .arguments = std::make_shared<const CanonicalArguments>(
                         CanonicalArguments{stored.call.arguments, stored.call.arguments_digest})});
  }
  return calls;
}

}  // namespace

LiveRun::LiveRun(const RunResources& resources, LiveRunStart start,
                 const asio::any_io_executor& executor)
    : resources_(resources),
      start_(std::move(start)),
      stop_(asio::make_strand(executor)),
      news_({.id = start_.id,
             .code = start_.record.code,
             .call = start_.call,
             .setting = start_.record.setting,
             .limits = start_.record.limits,
             .outcome = {.run_id = start_.id.str()},
             .created_at = start_.created_at,
             .updated_at = resources_.clock.Now()},
            resources_.clock),
      on_output_(std::move(start_.on_output)),
      on_progress_(std::move(start_.on_progress)) {}

std::shared_ptr<RunJournal> LiveRun::MakeJournal() {
  return std::make_shared<RunJournal>(
      JournalOptions{.store = resources_.store,
                     .desk = resources_.desk,
                     .clock = resources_.clock,
                     .owner = start_.owner,
                     .run = start_.id,
                     .lease = *start_.lease,
                     .code_digest = CodeDigest(start_.record.code),
                     .waiting = resources_.settings.waiting,
                     .max_bytes = resources_.settings.max_journal_bytes,
                     .total = &resources_.total,
                     .patience = &resources_.patience,
                     .recorded = start_.recorded,
                     .on_ask = start_.on_ask,
                     .on_change = [weak = weak_from_this()] {
                       if (const auto self = weak.lock()) self->OnChange();
                     }});
}

// Workers count all the time that passes, so they are given more; what counts is counted here.
std::chrono::nanoseconds LiveRun::SpareWallTime() const {
  const auto left = start_.setting->ceiling.wall_time - start_.record.limits.wall_time;
  return std::max(left, resources_.settings.min_patience);
}

CellRun LiveRun::MakeRequest(bool from_sleep) {
  CellRun request{.owner = OwnerId(start_.owner.str()),
                  .code = start_.record.code,
                  .call = start_.call,
                  .setting = start_.setting,
                  .limits = start_.record.limits,
                  .purpose = start_.purpose,
                  .consent = start_.consent,
                  .caller = start_.caller,
                  .inputs = start_.record.inputs};
  if (start_.record.session) {
    request.session = SessionRequest{
        .name = *start_.record.session, .restart = start_.restart, .fork_of = start_.fork_of};
  }
  request.on_output = [self = shared_from_this()](OutputStream stream, std::string_view bytes) {
    self->Hear(stream, bytes);
  };
  request.on_progress = [self = shared_from_this()](const std::string& tool,
                                                    const ToolProgress& progress) {
    const auto on_progress = *self->on_progress_.Lock();
    if (on_progress) on_progress(tool, progress);
  };
  if (!is_durable()) return request;
  news_.Publish([&](RunNews::State& news) {
    news.stdout_text = GrowingText(from_sleep ? start_.sleep->stdout_text : "");
    news.stderr_text = GrowingText(from_sleep ? start_.sleep->stderr_text : "");
  });
  cell_build_ = from_sleep ? start_.sleep_build : resources_.engine.build();
  if (start_.call) cell_build_ = CellBuild{};  // Any build can restore it.
  journal_ = MakeJournal();
  request.resume = ResumeState{
      .journal = journal_, .observer = shared_from_this(), .spare_wall_time = SpareWallTime()};
  if (!start_.record.session) AddRecording(*request.resume, from_sleep);
  return request;
}

// All that was recorded after the run was saved, or from its beginning.
void LiveRun::AddRecording(ResumeState& resume, bool from_sleep) {
  std::vector<TracePart> replay = start_.trace;
  if (from_sleep) {
    std::erase_if(replay, [this](const TracePart& part) { return part.seq < start_.sleep_seq; });
    resume.saved = start_.sleep->cell;
    resume.saved->replay = std::move(replay);
    resume.calls = CallsBefore(start_.recorded, start_.sleep_seq);
    return;
  }
  // What the run was told since its last call; unless it has made another one since it was saved.
  const bool tail_counts =
      start_.sleep && (replay.empty() || replay.back().seq < start_.sleep_seq) &&
      (start_.recorded.empty() || start_.recorded.back().call.seq < start_.sleep_seq);
  if (tail_counts) replay.push_back({start_.sleep_seq, start_.sleep->cell.tail});
  resume.recording = Recording{
      .seed = *start_.record.seed, .replay = std::move(replay), .must_repeat = start_.resumed};
  start_.sleep.reset();
}

asio::awaitable<void> LiveRun::Live() {
  const auto self = shared_from_this();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto run = co_await RunInCell();
  // Once: if it is the run itself that brings workers down, it does so twice.
  if (LostItsWorker(run) && !waits_in_store() && co_await Recover()) run = co_await RunInCell();
  // What it did is in the store by now; it goes on from there.
  while (state_.last_end() == CellEnd::kOutlasted && co_await Recover()) {
    run = co_await RunInCell();
  }
  if (LostItsWorker(run) && waits_in_store()) state_.Leave(Leaving::kAsleep);
  if (wrong_step_) run = *wrong_step_;
  co_await Conclude(std::move(run));
}

asio::awaitable<Result<CodeRun>> LiveRun::RunInCell() {
  state_.EndCell(CellEnd::kPlain);
  if (start_.sleep) {
    auto run = co_await resources_.runner.Run(MakeRequest(true));
    if (run || run.error().code() != ErrorCode::kFailedPrecondition) co_return run;
    // Another build than the one that put it to sleep: it begins again, and its journal answers.
  }
  if (auto why = WhyNotReplayed()) {
    journal_ = MakeJournal();  // The outcome has its calls.
    co_return CodeRun{FailedOutcome(RunReason::kLost, *std::move(why))};
  }
  co_return co_await resources_.runner.Run(MakeRequest(false));
}

bool LiveRun::record_is_cut() const {
  return std::ranges::any_of(start_.trace, [](const TracePart& part) { return IsCut(part.bytes); });
}

std::optional<std::string> LiveRun::WhyNotReplayed() const {
  if (!record_is_cut() && !(start_.sleep && IsCut(start_.sleep->cell.tail))) return std::nullopt;
  const std::string too_much = "the run cannot be replayed: " + TooMuchToRecord();
  if (!start_.sleep_build) {
    return too_much + ", and it was not saved after that. Nothing more was done";
  }
  return too_much +
         ". Only the build that saved it can go on with it: " + ToText(*start_.sleep_build) +
         ". To finish such runs after an upgrade, keep the older worker ([worker] keep). Nothing "
         "more was done";
}

// The worker is gone, the store is not. True: the run can go on from there.
asio::awaitable<bool> LiveRun::Recover() {
  const bool ours =
      !is_abandoned() && !wrong_step_ && journal_ && journal_->fault() == RunJournal::Fault::kNone;
  if (!can_be_saved() || !ours) co_return false;
  const auto why = co_await resources_.patience.Insist<std::optional<std::string>>(
      [this](Try) { return ReadAgain(resources_, start_); });
  co_return why && !*why && !co_await IsCancelled();
}

asio::awaitable<void> LiveRun::Conclude(Result<CodeRun> run) {
  if (state_.leaving() != Leaving::kNo ||
      (journal_ && journal_->fault() == RunJournal::Fault::kLost)) {
    co_return co_await GiveBack();
  }
  if (!run && start_.resumed) {
    const SystemTime now = resources_.clock.Now();
    const bool crashed = run.error().code() == ErrorCode::kInternal;
    if (MayBeTriedLater(run.error().code())) {
      co_return co_await TryLater({.retry_at = now + kTryAgain, .counts = false});
    }
    if (crashed && start_.attempts < resources_.settings.max_attempts) {
      co_return co_await TryLater({.retry_at = now + BackOff(start_.attempts)});
    }
    const RunReason reason = crashed ? RunReason::kCrashed : RunReason::kLost;
    run = CodeRun{FailedOutcome(reason, run.error().message())};
  }
  if (!run) {
    const Outcome failed = Complete(FailedOutcome(RunReason::kLost, run.error().message()));
    if (start_.lease) co_await Store(co_await Encode(resources_, failed));
    if (start_.key && NeverBegan(run.error().code())) co_await ForgetKey();
    news_.Publish([&](RunNews::State& news) {
      news.view.state = RunState::kFinished;
      news.outcome = std::make_shared<const Outcome>(failed);
      news.error = run.error();
      news.gone = true;
    });
    co_return;
  }
  const SessionFate session = run->session;
  Outcome outcome = Complete(std::move(run->outcome));
  auto end = co_await Encode(resources_, outcome);
  const auto publish = [&] {
    news_.Publish([&](RunNews::State& news) {
      news.view.state = RunState::kFinished;
      news.outcome = std::make_shared<const Outcome>(std::move(outcome));
      news.view.session = session;
      news.view.saved_bytes = 0;
    });
  };
  // Of a run that could not wait nothing was promised: whoever started it need not wait for the
  // disk.
  if (!stored_first_) publish();
  co_await Store(std::move(end));
  if (stored_first_ && (!journal_ || journal_->fault() != RunJournal::Fault::kLost)) publish();
  news_.Publish([](RunNews::State& news) { news.gone = true; });
}

Outcome LiveRun::Complete(Outcome outcome) const {
  outcome.run_id = start_.id.str();
  if (!journal_) return outcome;
  if (start_.sleep) {
    outcome.stdout_text.insert(0, start_.sleep->stdout_text);
    outcome.stderr_text.insert(0, start_.sleep->stderr_text);
  }
  outcome.calls = journal_->calls();
  outcome.approvals.clear();
  if (journal_->fault() == RunJournal::Fault::kLimit) {
    outcome.status = RunStatus::kLimit;
    outcome.reason = RunReason::kToolCalls;
    outcome.error = RunError{.type = "LimitError", .message = journal_->fault_text()};
    outcome.result.reset();
    outcome.result_repr.reset();
    return outcome;
  }
  const bool ran_out = outcome.reason == RunReason::kWallTime;
  // Code that was taken away before it had come as far as the last time has not done anything else.
  const bool taken_away =
      outcome.reason == RunReason::kLost || outcome.reason == RunReason::kCrashed;
  const bool ended_itself =
      outcome.status == RunStatus::kCompleted || outcome.status == RunStatus::kFailed || ran_out;
  if (journal_->fault() == RunJournal::Fault::kDiverged ||
      (ended_itself && !taken_away && !journal_->caught_up())) {
    outcome.status = RunStatus::kFailed;
    outcome.reason = RunReason::kDiverged;
    const std::string why = journal_->fault_text();
    outcome.error = RunError{.type = "RunDiverged",
                             .message = "the code did not do again what it did before" +
                                        (why.empty() ? " (it made fewer calls)" : ": " + why) +
                                        ". Nothing more was done"};
    if (record_is_cut()) {
      outcome.reason = RunReason::kLost;
      outcome.error->message = TooMuchToRecord() + ", and so " + outcome.error->message;
    }
    outcome.result.reset();
    outcome.result_repr.reset();
  }
  return outcome;
}

asio::awaitable<void> LiveRun::Store(std::shared_ptr<const RunEnd> end) {
  RunStore& runs = resources_.store.runs();
  const SystemTime now = resources_.clock.Now();
  const bool keeps = resources_.settings.keeps_ended && start_.keep == KeepRun::kYes;
  if (!start_.lease && !keeps) co_return;
  if (!start_.lease) {
    const auto store = [&](Try) {
      return StoreEnded(runs, {.owner = start_.owner,
                               .id = start_.id,
                               .code_digest = CodeDigest(start_.record.code),
                               .request = Encode(start_.record),
                               .end = end,
                               .created_at = start_.created_at,
                               .ended_at = now});
    };
    // While the store fails such runs pile up in memory; beyond a number they are not stored. The
    // run has ended all the same, and its caller knows.
    static_cast<void>(co_await resources_.patience.Insist<void>(
        store, [&] { return resources_.patience.health().waiting() <= kMostUnstored; }));
    co_return;
  }
  static_cast<void>(co_await resources_.patience.Insist<void>([&](Try which) {
    return runs.Finish(start_.owner, start_.id, For(*start_.lease, which), end, now);
  }));
}

// Its client may send the same request again.
asio::awaitable<void> LiveRun::ForgetKey() {
  static_cast<void>(
      co_await resources_.store.runs().ForgetKey(start_.owner, start_.key->id, start_.id));
}

asio::awaitable<void> LiveRun::GiveBack() {
  Setback setback;
  if (fell_asleep() && wake_by_) setback.retry_at = *wake_by_;
  // Refused if another has it already: then there is nothing to give.
  static_cast<void>(
      co_await resources_.store.runs().Postpone(start_.owner, start_.id, *start_.lease, setback));
  news_.Publish([](RunNews::State& news) { news.gone = true; });
}

asio::awaitable<void> LiveRun::TryLater(Setback setback) {
  static_cast<void>(
      co_await resources_.store.runs().Postpone(start_.owner, start_.id, *start_.lease, setback));
  news_.Publish([](RunNews::State& news) { news.gone = true; });
}

// ---- With a cell ----

void LiveRun::Step(LiveEvent event) {
  auto done = state_.Apply(event);
  if (done || wrong_step_) return;
  wrong_step_ = std::move(done).error();
  Cancel();
}

void LiveRun::OnCell(Cell& cell, const std::optional<SessionId>& session) {
  cell_ = &cell;
  Step(LiveEvent::kCellComes);
  if (session) journal_->EnterSession({*start_.record.session, *session});
  sleep_timer_.emplace(cell.executor());
  *cell_executor_.Lock() = cell.executor();
  WallLimit::Spent before;
  if (start_.sleep) {
    before = {.active = start_.sleep->active + SleptSince(*start_.sleep, resources_.clock.Now()),
              .waited = start_.sleep->waited};
  }
  wall_limit_ = WallLimit::Begin(cell, start_.record.limits.wall_time, before);
}

void LiveRun::OnSleep(std::optional<HostTime> until) {
  sleeps_until_ = until;
  ++turns_;
  OnChange();
}

void LiveRun::OnEnd(Result<Outcome>& outcome) {
  const bool waited = state_.is_waiting();
  if (waited && !fell_asleep()) GoOn();
  // Workers count all the time that passes: more than is the run's own only if that waited for the
  // store.
  const bool outlasted =
      outcome && outcome->reason == RunReason::kWallTime && wall_limit_->is_paused();
  state_.EndCell(outlasted ? CellEnd::kOutlasted : waited ? CellEnd::kWaiting : CellEnd::kPlain);
  wall_limit_->LetGo();
  if (outcome) wall_limit_->Correct(*outcome);
  journal_->Stop();
}

asio::awaitable<void> LiveRun::LetGo() {
  *cell_executor_.Lock() = std::nullopt;
  if (state_.is_settling()) {
    settled_ = std::make_shared<Wakeup>();
    while (co_await settled_->Sleep() != Wakeup::Reason::kWoken) {
    }
  }
  cell_ = nullptr;
  Step(LiveEvent::kCellGoes);
  sleep_timer_.reset();
}

void LiveRun::OnChange() {
  if (cell_ == nullptr) return;
  if (journal_->fault() != RunJournal::Fault::kNone) return cell_->Cancel();
  if (state_.is_waiting() && changes() != parked_changes_) GoOn();
  CountTime();
  if (state_.phase() != LivePhase::kActive || !is_settled()) return;
  Step(LiveEvent::kSettle);
  Spawn(cell_->executor(), Settle());
}

bool LiveRun::is_settled() const {
  return journal_->waits() || (sleeps_until_ && can_be_saved() && journal_->quiet());
}

// Finds out whether the code waits for nothing but people and time, and has it stored if so.
asio::awaitable<void> LiveRun::Settle() {
  const auto self = shared_from_this();
  std::chrono::milliseconds ask_again = kAskAgain;
  std::optional<StoreHealth::Waiting> waiting;
  auto pause = resources_.patience.pace().first / 2;
  while (cell_ != nullptr && !state_.is_waiting() && !is_abandoned() && is_settled()) {
    const std::uint64_t before = changes();
    Result<SavedCell> saved = Error(ErrorCode::kInvalidArgument, "a session's run is not saved");
    if (can_be_saved()) saved = co_await cell_->Save(AfterSave::kKeep);
    if (changes() != before) continue;
    if (!saved && saved.error().code() == ErrorCode::kFailedPrecondition) {
      asio::steady_timer soon(cell_->executor(), ask_again);
      ask_again = std::min(2 * ask_again, kAskAgainAtMost);
      co_await soon.async_wait(asio::as_tuple(asio::use_awaitable));
      continue;
    }
    if (!saved && saved.error().code() == ErrorCode::kUnavailable) break;  // Its worker is gone.
    if (!saved && !journal_->waits()) break;  // It sleeps in memory alone.
    if (co_await Park(std::move(saved))) continue;
    // Whoever is asked may decide all the same.
    if (!waiting) waiting.emplace(resources_.patience.health());
    CountTime();
    pause = std::min(pause * 2, resources_.patience.pace().longest);
    co_await resources_.patience.Sleep(pause);
    if (resources_.patience.is_closed()) break;
  }
  if (state_.is_settling()) Step(LiveEvent::kUnsettle);
  CountTime();
  if (settled_) settled_->Wake();
}

asio::awaitable<bool> LiveRun::Park(Result<SavedCell> saved) {
  const bool for_somebody = journal_->waits();
  Step(LiveEvent::kStore);
  parked_changes_ = changes();
  wake_by_.reset();
  if (!for_somebody && sleeps_until_) {
    const auto left = start_.record.limits.wall_time - wall_limit_->clock().active();
    wake_by_ = std::min<SystemTime>(
        *sleeps_until_,
        resources_.clock.Now() + std::chrono::duration_cast<SystemTime::duration>(left));
  }
  CountTime();
  // No bytes: it waits in memory alone, which whoever finds it in the store must know.
  Result<SavedRun> sealed = SavedRun{.seq = journal_->made()};
  if (saved) sealed = Seal(*std::move(saved), for_somebody);
  const std::size_t bytes = sealed ? sealed->sealed.size() : 0;
  const std::string build = sealed ? sealed->build : "";
  Result<void> parked = Error(ErrorCode::kInternal, "it could not be sealed");
  if (sealed) parked = co_await journal_->Park(*std::move(sealed));
  if (!parked && IsStoreFailure(parked.error())) {
    Step(LiveEvent::kStoreFails);
    co_return false;
  }
  Step(LiveEvent::kStored);
  if (parked) {
    stored_bytes_ = bytes;
  } else {
    state_.Leave(Leaving::kAbandoned);
    if (cell_ != nullptr) cell_->Cancel();
  }
  if (!parked || cell_ == nullptr || !state_.is_waiting())
    co_return true;  // Perhaps somebody was quick to decide.
  news_.Publish([&](RunNews::State& news) {
    news.view.saved_bytes = bytes;
    news.view.saved_build = build;
    news.sleeps = !for_somebody;
    if (!for_somebody) return;
    news.view.state = RunState::kWaiting;
    news.view.outcome.status = RunStatus::kWaiting;
    news.view.outcome.reason = RunReason::kApproval;
    news.view.outcome.calls = journal_->calls();
    news.view.outcome.approvals = journal_->approvals();
  });
  if (bytes > 0) SleepSoon();
  co_return true;
}

// Waiting for people or for the store is not the run's own time. Sleeping is.
void LiveRun::CountTime() {
  if (cell_ == nullptr) return;
  const bool waits = (state_.is_waiting() && !wake_by_) ||
                     (state_.phase() == LivePhase::kUnstored && journal_->waits()) ||
                     journal_->stalls();
  if (waits == wall_limit_->is_paused()) return;
  waits ? wall_limit_->Pause() : wall_limit_->Continue();
}

Result<SavedRun> LiveRun::Seal(SavedCell cell, bool for_somebody) const {
  if (!cell_build_) return Error(ErrorCode::kInternal, "the engine saves cells and has no build");
  const std::optional<SystemTime> wake_at = cell.wake_at;
  SleepRecord record{.active = wall_limit_->clock().active(),
                     .waited = wall_limit_->clock().waited(),
                     .cell = std::move(cell)};
  if (!for_somebody) record.sleeps_since = resources_.clock.Now();
  const RunNews::State news = news_.Look();
  record.stdout_text = news.stdout_text.str();
  record.stderr_text = news.stderr_text.str();
  const std::uint32_t made = journal_->made();
  TRY_ASSIGN(std::string sealed, resources_.keys.SealCell({.owner = OwnerId(start_.owner.str()),
                                                           .run = start_.id.str(),
                                                           .call_seq = made,
                                                           .build_id = cell_build_->build_id,
                                                           .base_hash = cell_build_->base_hash},
                                                          {Encode(record)}));
  return SavedRun{.seq = made,
                  .build = ToText(*cell_build_),
                  .sealed = std::move(sealed),
                  .wake_at = wake_at,
                  .waits_for_somebody = for_somebody};
}

// Somebody has decided, or the code has slept enough.
void LiveRun::GoOn() {
  Step(LiveEvent::kGoOn);
  CountTime();
  sleep_timer_->cancel();
  news_.Publish([&](RunNews::State& news) {
    news.sleeps = false;
    news.view.state = RunState::kRunning;
    news.view.outcome.approvals.clear();
  });
}

void LiveRun::SleepSoon() {
  RunClock::Duration longest = resources_.settings.keep_parked;
  // The worker counts the time that somebody takes, too.
  if (!wake_by_) longest = std::min(longest, SpareWallTime()) - wall_limit_->clock().waited();
  sleep_timer_->expires_after(std::max(longest, RunClock::Duration{}));
  sleep_timer_->async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->SleepNow();
  });
}

// What is in the store is as good as what is here: this copy ends.
void LiveRun::SleepNow() {
  if (state_.phase() != LivePhase::kParked || !parked() || changes() != parked_changes_) return;
  journal_->Freeze();
  state_.Leave(Leaving::kAsleep);
  cell_->Cancel();
}

void LiveRun::OnCellExecutor(std::function<void()> action) {
  const auto executor = *cell_executor_.Lock();
  if (executor) asio::post(*executor, std::move(action));
}

void LiveRun::Evict() {
  OnCellExecutor([self = shared_from_this()] { self->SleepNow(); });
}

void LiveRun::Abandon() {
  if (!is_durable()) return Cancel();  // It has no journal that would keep it from going on.
  OnCellExecutor([self = shared_from_this()] {
    self->state_.Leave(Leaving::kAbandoned);
    if (self->cell_ != nullptr) self->cell_->Cancel();
  });
}

void LiveRun::Cancel() {
  stop_.Request();
}

asio::awaitable<void> LiveRun::ReadDecisions(std::shared_ptr<LiveRun> run) {
  const auto read = [&]() -> asio::awaitable<void> {
    const auto journal = run->journal_;  // Shared: the run may make another meanwhile.
    if (journal) co_await journal->ReadDecisions();
  };
  co_await RunOn(asio::any_io_executor(run->stop_.executor()), read());
}

// ---- What others see ----

void LiveRun::Hear(OutputStream stream, std::string_view bytes) {
  bytes = news_.Hear(stream, bytes);
  if (bytes.empty()) return;
  const auto on_output = *on_output_.Lock();
  if (on_output) on_output(stream, bytes);
}

std::optional<LiveRun::Parked> LiveRun::parked() const {
  return news_.Ask([](const RunNews::State& news) -> std::optional<Parked> {
    const RunView& view = news.view;
    const bool waits = view.state == RunState::kWaiting || news.sleeps;
    if (!waits || view.saved_bytes == 0) return std::nullopt;
    return Parked{.since = view.updated_at, .bytes = view.saved_bytes};
  });
}

bool LiveRun::needs_cell() const {
  return news_.Ask([](const RunNews::State& news) {
    return !news.ended() && news.view.state == RunState::kRunning;
  });
}

bool LiveRun::has_ended() const {
  return news_.Ask([](const RunNews::State& news) { return news.ended(); });
}

}  // namespace caisson
