#include "runs/journaled_runs.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "approval/binding.h"
#include "base/aead.h"
#include "base/low_priority_pool.h"
#include "base/spawn.h"
#include "runs/direct_call.h"
#include "runs/journal/outcome_record.h"
#include "runs/stored_view.h"

namespace caisson {
namespace {

constexpr std::uint32_t kAtOnce = 64;  // Runs and approvals looked after in one round.
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr int kRenewals = 3;      // Of a lease, before it would be over.
constexpr int kCreateAgain = 2;   // How often a new run that may be stored is stored again.
constexpr int kCancelRounds = 4;  // Of looking into the store, until a holder has surely seen it.

Error Closed() {
  return Error(ErrorCode::kUnavailable, "shutting down: new runs are not accepted");
}

bool IsFinished(const RunView& view) {
  return view.state == RunState::kFinished;
}

}  // namespace

JournaledRuns::JournaledRuns(JournaledRunsOptions options)
    : options_(std::move(options)),
      total_(options_.store.maintenance()),
      usage_(options_.store.runs(), options_.settings.max_stored_bytes),
      patience_(options_.store.health(), options_.settings.pace),
      resources_{.engine = options_.engine,
                 .runner = options_.runner,
                 .store = options_.store,
                 .desk = options_.desk,
                 .keys = options_.keys,
                 .clock = options_.clock != nullptr ? *options_.clock : system_clock_,
                 .settings = options_.settings,
                 .holder = NewRunId(),
                 .total = total_,
                 .patience = patience_,
                 .caller_host = options_.caller_host} {}

JournaledRuns::~JournaledRuns() = default;

std::shared_ptr<const CodeSetting> JournaledRuns::SettingNamed(const std::string& name,
                                                               const CallerContext* session) const {
  if (name.empty()) return options_.setting.For(session);
  const auto found = options_.named_settings.find(name);
  return found == options_.named_settings.end() ? nullptr : found->second.For(session);
}

// ---- Runs that are here ----

std::shared_ptr<LiveRun> JournaledRuns::FindLive(const IsolationKey& owner, const RunId& id) {
  auto state = state_.Lock();
  const auto found = state->live.find({owner, id});
  return found == state->live.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<LiveRun>> JournaledRuns::AllLive() {
  std::vector<std::shared_ptr<LiveRun>> all;
  auto state = state_.Lock();
  for (const auto& [key, run] : state->live) all.push_back(run);
  return all;
}

void JournaledRuns::Remove(const LiveRun& run) {
  state_.Lock()->live.erase({run.start().owner, run.start().id});
}

bool JournaledRuns::Launch(std::shared_ptr<LiveRun> run) {
  auto pass = gate_.Enter();
  if (!pass) return false;
  {
    auto state = state_.Lock();
    if (state->closed) return false;
    state->live.emplace(Key{run->start().owner, run->start().id}, run);
  }
  // The store is the truth: a notification only wakes the run, which reads its decisions there.
  auto listening = options_.notifier.Listen(
      run->start().owner, run->start().id, [this, weak = std::weak_ptr(run)] {
        if (auto woken = weak.lock()) {
          InBackground(LiveRun::ReadDecisions(std::move(woken)));
        }
      });
  auto ended = [this, run, pass = *std::move(pass), listening = std::move(listening)] {
    Remove(*run);
    // A decision that came while it fell asleep was told to a run that did not listen any more.
    if (!run->fell_asleep()) return;
    const LiveRunStart& start = run->start();
    InBackground(run->wake_by() ? WakeLater(start.owner, start.id, *run->wake_by())
                                : ResumeIfDecided(start.owner, start.id));
  };
  Spawn(run->stop(), run->Live(), std::move(ended));
  return true;
}

void JournaledRuns::InBackground(asio::awaitable<void> work) {
  auto pass = gate_.Enter();
  if (!pass) return;
  Spawn(options_.executor, std::move(work), [pass = *std::move(pass)] {});
}

// Memory is for those who are decided soon: of too many, or too big ones, those that wait longest
// sleep. So do as many as are in the way of somebody who waits for a cell.
void JournaledRuns::RelievePressure() {
  std::vector<std::pair<LiveRun::Parked, std::shared_ptr<LiveRun>>> parked;
  std::uint64_t bytes = 0;
  for (auto& run : AllLive()) {
    const auto found = run->parked();
    if (!found) continue;
    bytes += found->bytes;
    parked.emplace_back(*found, std::move(run));
  }
  std::ranges::sort(parked, {}, [](const auto& each) { return each.first.since; });
  const RunSettings& settings = options_.settings;
  const std::uint64_t in_the_way = options_.engine.stats().waiting;
  for (std::size_t gone = 0; gone < parked.size(); ++gone) {
    const bool fits =
        parked.size() - gone <= settings.max_parked && bytes <= settings.max_parked_bytes;
    if (fits && gone >= in_the_way) break;
    bytes -= parked[gone].first.bytes;
    parked[gone].second->Evict();
  }
}

// ---- Starting ----

class JournaledRuns::Starting {
 public:
  Starting(Guarded<State>& state, IsolationKey owner) : state_(&state), owner_(std::move(owner)) {}
  Starting(Starting&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), owner_(std::move(other.owner_)) {}
  Starting& operator=(Starting&&) = delete;
  ~Starting() {
    if (state_ == nullptr) return;
    auto state = state_->Lock();
    const auto found = state->starting.find(owner_);
    if (--found->second == 0) state->starting.erase(found);
  }

 private:
  Guarded<State>* state_;
  IsolationKey owner_;
};

Result<JournaledRuns::Starting> JournaledRuns::CountStart(const IsolationKey& owner) {
  const std::size_t cells = options_.engine.cells_per_owner();
  const std::size_t queued = options_.settings.max_queued;
  auto state = state_.Lock();
  std::size_t under_way = 0;
  if (const auto own = state->starting.find(owner); own != state->starting.end()) {
    under_way = own->second;
  }
  // Counted only if there can be too many.
  const bool counts = under_way + state->live.size() >= queued;
  for (auto own = state->live.lower_bound({owner, RunId("")});
       counts && own != state->live.end() && own->first.first == owner; ++own) {
    if (own->second->needs_cell()) ++under_way;
  }
  // Sessions that nobody uses hold cells, too; their owner waits then. No sum: `cells` may be
  // without limit.
  if (under_way >= queued && under_way - queued >= cells) {
    return Error(ErrorCode::kResourceExhausted,
                 "you have " + std::to_string(under_way) + " runs under way already; at most " +
                     std::to_string(cells) + " may run (runs.max_cells) and " +
                     std::to_string(queued) +
                     " wait for their turn (runs.max_queued). Try again when some have ended");
  }
  ++state->starting[owner];
  return Starting(state_, owner);
}

// No name has a space. A setting without a name is gone with this process.
std::string JournaledRuns::NameOf(const std::shared_ptr<const CodeSetting>& setting,
                                  const CallerContext* caller) const {
  if (setting == options_.setting.For(caller)) return "";
  const auto named = std::ranges::find_if(options_.named_settings, [&](const auto& entry) {
    return entry.second.For(caller) == setting;
  });
  return named == options_.named_settings.end() ? "not named" : named->first;
}

Result<LiveRunStart> JournaledRuns::MakeStart(IsolationKey owner, RunSpec& request) const {
  const CallerContext* const caller = request.caller.get();
  auto setting = request.setting ? request.setting : SettingNamed(request.setting_name, caller);
  if (!setting) {
    return Error(ErrorCode::kInvalidArgument,
                 "no setting has the name \"" + request.setting_name + "\"");
  }
  std::string name =
      request.setting_name.empty() ? NameOf(setting, caller) : std::move(request.setting_name);
  LiveRunStart start{
      .owner = std::move(owner),
      .id = RunId(NewRunId()),
      .setting = std::move(setting),
      .caller = std::move(request.caller),
      .created_at = resources_.clock.Now(),
      .restart = request.restart,
      .fork_of = std::move(request.fork_of),
      .on_output = std::move(request.on_output),
      .on_progress = std::move(request.on_progress),
      .on_ask = request.on_ask,
      .consent = request.approvals == Approvals::kAll ? Consent::kGiven : Consent::kNone,
      .keep = request.keep,
      .purpose = request.purpose,
      .key = request.key};
  start.record = {.code = std::move(request.code),
                  .session = std::move(request.session),
                  .limits = request.limits.value_or(start.setting->limits),
                  .setting = std::move(name)};
  if (start.caller) start.record.caller = start.caller->Record();
  TRY(CheckLimits(start.record.limits, start.setting->ceiling));
  bool may_ask = MayAsk(*start.setting->tools);
  if (request.call) {
    TRY_ASSIGN(start.record.call, ToRecord(*request.call));
    start.record.code = "# A call of the tool " + request.call->tool;
    const Tool* const tool = start.setting->tools->Find(request.call->tool);
    may_ask = tool != nullptr && tool->definition().approval.mode() != Approval::Mode::kNever;
    start.call = *std::move(request.call);
  }
  std::size_t input_bytes = 0;
  for (const InputFile& file : request.inputs) input_bytes += file.contents->size();
  if (input_bytes > kMaxInputBytes) {
    return Error(ErrorCode::kInvalidArgument, "the input files of a run take more than 16 MiB");
  }
  if (!request.inputs.empty() && start.record.session) {
    return Error(ErrorCode::kInvalidArgument, "a run in a session takes no input files");
  }
  start.record.inputs = std::move(request.inputs);
  const bool is_recorded = request.journal == RunJournaling::kAlways || may_ask;
  if (request.approvals == Approvals::kAsk && is_recorded) {
    const AeadKey random = AeadKey::Random();
    start.record.seed = std::string(random.bytes().begin(), random.bytes().end());
  }
  return start;
}

asio::awaitable<Result<std::shared_ptr<LiveRun>>> JournaledRuns::Begin(IsolationKey owner,
                                                                       RunSpec& request,
                                                                       bool stored_first) {
  auto start = MakeStart(owner, request);
  if (!start) co_return std::move(start).error();
  const auto starting = CountStart(owner);
  if (!starting) co_return starting.error();
  stored_first = stored_first || start->record.seed || start->key;
  if (stored_first || options_.settings.keeps_ended) {
    if (auto room = co_await usage_.BeforeOneMore(owner); !room) co_return std::move(room).error();
  }
  if (stored_first) {
    const auto create = [&](Try) {
      return options_.store.runs().Create(owner,
                                          {.id = start->id,
                                           .code_digest = CodeDigest(start->record.code),
                                           .request = Encode(start->record),
                                           .key = start->key},
                                          {.holder = resources_.holder,
                                           .now = start->created_at,
                                           .until = start->created_at + options_.settings.lease});
    };
    auto lease = co_await create(Try::kFirst);
    // It may be stored all the same, and its client would not know it.
    if (!lease && lease.error().code() == ErrorCode::kUnavailable) {
      lease = co_await patience_.Repeat<Lease>(
          create, std::move(lease).error(), [left = kCreateAgain]() mutable { return left-- > 0; });
    }
    if (!lease) co_return std::move(lease).error().Context("store the run");
    start->lease = *std::move(lease);
  }
  const asio::any_io_executor here = co_await asio::this_coro::executor;
  auto run = std::make_shared<LiveRun>(resources_, *std::move(start),
                                       stored_first ? options_.executor : here);
  if (request.on_start) request.on_start(run->start().id);
  if (!Launch(run)) co_return Closed();
  co_return run;
}

asio::awaitable<Result<RunView>> JournaledRuns::Start(IsolationKey owner, RunSpec request) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto begun = co_await Begin(owner, request, false);
  if (!begun) {
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return std::move(begun).error();
  }
  const auto run = *std::move(begun);
  RunNews::State news = run->news().Look();
  const auto stays = [&] {
    return news.view.state == RunState::kRunning ||
           (request.on_ask && news.view.state == RunState::kWaiting);
  };
  bool stopped = false;
  while (!news.ended() && !news.gone && stays()) {
    if (!stopped && co_await IsCancelled()) {
      stopped = true;
      if (request.key) break;
      run->Cancel();
    }
    co_await run->news().Await(news.version, RunClock::Time::max());
    news = run->news().Look();
  }
  Result<RunView> view = news.view;
  if (news.error) {
    view = *std::move(news.error);
  } else if (!news.gone || news.ended()) {
    view = co_await Whole(std::move(news));
  } else {
    view = co_await AwaitWaking(owner, run->start().id);
    const bool cancelled = !view && view.error().code() == ErrorCode::kCancelled;
    if (cancelled) {
      auto left = request.key ? Find(owner, run->start().id) : Cancel(owner, run->start().id);
      view = co_await std::move(left);
    }
  }
  run->StopStreaming();
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (view && view->state == RunState::kWaiting) RelievePressure();
  co_return view;
}

// A run that sleeps in the store is under way to its caller.
asio::awaitable<Result<RunView>> JournaledRuns::AwaitWaking(IsolationKey owner, RunId id) {
  auto enough = [this](const RunView& view) {
    return view.state != RunState::kRunning || state_.Lock()->closed;
  };
  return AwaitView(std::move(owner), std::move(id), std::move(enough), RunClock::Time::max());
}

asio::awaitable<Result<RunView>> JournaledRuns::StartDetached(IsolationKey owner, RunSpec request) {
  auto begun = co_await Begin(std::move(owner), request, true);
  if (!begun) co_return std::move(begun).error();
  co_return co_await Whole((*begun)->news().Look());
}

// ---- Looking ----

asio::awaitable<RunView> JournaledRuns::Whole(RunNews::State news) const {
  return WholeView(std::move(news), options_.runner.cpu_pool());
}

asio::awaitable<Result<RunView>> JournaledRuns::ToView(IsolationKey owner, StoredRun stored) {
  auto view = co_await ViewStored(options_.store, owner, std::move(stored));
  if (!view || view->saved_bytes == 0) co_return view;
  auto saved = co_await options_.store.runs().LoadSaved(owner, view->id);
  if (!saved && IsStoreFailure(saved.error())) co_return std::move(saved).error();
  auto sleep = saved ? OpenSleep(resources_, owner, view->id, *saved) : std::nullopt;
  if (!sleep) co_return view;
  view->outcome.stdout_text = std::move(sleep->stdout_text);
  view->outcome.stderr_text = std::move(sleep->stderr_text);
  co_return view;
}

asio::awaitable<Result<RunView>> JournaledRuns::FindStored(IsolationKey owner, RunId id) {
  auto stored = co_await options_.store.runs().Find(owner, id);
  if (!stored) co_return std::move(stored).error();
  co_return co_await ToView(std::move(owner), *std::move(stored));
}

asio::awaitable<Result<RunView>> JournaledRuns::Find(IsolationKey owner, RunId id) {
  if (const auto run = FindLive(owner, id)) {
    RunNews::State news = run->news().Look();
    if (!news.gone || news.ended()) co_return co_await Whole(std::move(news));
  }
  co_return co_await FindStored(std::move(owner), std::move(id));
}

asio::awaitable<Result<KeyedRun>> JournaledRuns::FindByKey(IsolationKey owner, IdempotencyKey key) {
  return options_.store.runs().FindByKey(std::move(owner), std::move(key), resources_.clock.Now());
}

asio::awaitable<Result<Page<RunView>>> JournaledRuns::List(IsolationKey owner,
                                                           std::optional<RunState> state,
                                                           PageQuery query) {
  auto stored = co_await options_.store.runs().List(owner, state, std::move(query));
  if (!stored) co_return std::move(stored).error();
  Page<RunView> page{.items = {}, .next = std::move(stored->next)};
  for (ListedRun& run : stored->items) {
    if (run.state == RunState::kFinished && run.summary.empty()) {
      auto summary = co_await SummaryOf(owner, run.id);
      if (!summary) co_return std::move(summary).error();
      run.summary = *std::move(summary);
    }
    auto view = ViewListed(std::move(run));
    if (!view) co_return std::move(view).error();
    page.items.push_back(*std::move(view));
  }
  co_return page;
}

// Of a run that a version without summaries has finished.
asio::awaitable<Result<std::string>> JournaledRuns::SummaryOf(IsolationKey owner, RunId id) {
  const auto stored = co_await options_.store.runs().Find(std::move(owner), std::move(id));
  if (!stored) co_return stored.error();
  co_return co_await CallAside(options_.runner.cpu_pool(), stored->outcome.size(),
                               [&]() -> Result<std::string> {
                                 TRY_ASSIGN(const Outcome outcome, DecodeOutcome(stored->outcome));
                                 return EncodeSummary(outcome);
                               });
}

asio::awaitable<Result<RunView>> JournaledRuns::AwaitView(
    IsolationKey owner, RunId id, std::function<bool(const RunView&)> enough,
    RunClock::Time deadline) {
  std::chrono::milliseconds look_again{1};
  while (true) {
    const auto run = FindLive(owner, id);
    RunNews::State news =
        run ? run->news().Look() : RunNews::State{.view = {.id = id}, .gone = true};
    const bool here = run && (!news.gone || news.ended());
    auto view = here ? Result<RunView>(news.view) : co_await FindStored(owner, id);
    if (!view || enough(*view) || std::chrono::steady_clock::now() >= deadline) {
      if (here) view = co_await Whole(std::move(news));
      co_return view;
    }
    if (co_await IsCancelled()) {
      co_return Error(ErrorCode::kCancelled, "cancelled while waiting for the run");
    }
    if (here && !news.ended()) {
      co_await run->news().Await(news.version, deadline);
      continue;
    }
    // Another replica has it, or it sleeps. Most that are awaited have just been decided and are on
    // their way.
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(std::min(deadline, std::chrono::steady_clock::now() + look_again));
    look_again = std::min(look_again * 2, kLookAgain);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<Result<RunView>> JournaledRuns::Await(
    IsolationKey owner, RunId id, std::set<std::string> known,
    std::chrono::steady_clock::time_point deadline) {
  auto enough = [known = std::move(known)](const RunView& view) {
    const bool asks =
        view.state == RunState::kWaiting && !std::ranges::includes(known, ApprovalIds(view));
    return IsFinished(view) || asks;
  };
  return AwaitView(std::move(owner), std::move(id), std::move(enough), deadline);
}

asio::awaitable<Result<std::string>> JournaledRuns::File(IsolationKey owner, RunId id,
                                                         std::uint32_t number) {
  if (const auto run = FindLive(owner, id)) {
    const std::shared_ptr<const Outcome> outcome = run->news().Look().outcome;
    if (outcome && number < outcome->files.size()) co_return outcome->files[number].contents;
  }
  co_return co_await options_.store.runs().LoadFile(std::move(owner), std::move(id), number);
}

// ---- Deciding ----

asio::awaitable<Result<StoredApproval>> JournaledRuns::FindApproval(IsolationKey owner,
                                                                    ApprovalId id) {
  return options_.store.approvals().Find(std::move(owner), std::move(id));
}

asio::awaitable<Result<Page<StoredApproval>>> JournaledRuns::ListApprovals(
    IsolationKey owner, std::optional<ApprovalState> state, PageQuery query) {
  return options_.store.approvals().List(std::move(owner), state, std::move(query));
}

// The setting whose tools the run calls. Null if it is not here.
asio::awaitable<std::shared_ptr<const CodeSetting>> JournaledRuns::SettingOf(IsolationKey owner,
                                                                             RunId id) {
  if (const auto run = FindLive(owner, id)) co_return run->start().setting;
  const auto stored = co_await options_.store.runs().Find(std::move(owner), std::move(id));
  if (!stored) co_return nullptr;
  const auto record = DecodeRunRecord(stored->request);
  if (!record) co_return nullptr;
  std::optional<CallerContext> caller;
  if (record->caller && options_.caller_host != nullptr) {
    caller = CallerContext::FromRecord(*options_.caller_host, *record->caller);
  }
  co_return SettingNamed(record->setting, caller ? &*caller : nullptr);
}

asio::awaitable<Result<std::shared_ptr<const Tool>>> JournaledRuns::FindTool(IsolationKey owner,
                                                                             ApprovalId id) {
  const auto approval = co_await options_.store.approvals().Find(owner, std::move(id));
  if (!approval) co_return approval.error();
  const CallBinding& binding = approval->asked.binding;
  const auto setting = co_await SettingOf(std::move(owner), binding.run);
  const Tool* tool = setting ? setting->tools->Find(binding.tool) : nullptr;
  if (tool != nullptr) co_return tool->shared_from_this();
  co_return Error(ErrorCode::kFailedPrecondition, "the tool " + binding.tool + " is not here");
}

asio::awaitable<Result<StoredApproval>> JournaledRuns::Decide(IsolationKey owner, ApprovalId id,
                                                              Answer answer) {
  std::shared_ptr<const Tool> tool;
  if (answer.changes) {
    auto found = co_await FindTool(owner, id);
    if (!found && found.error().code() == ErrorCode::kNotFound) co_return std::move(found).error();
    if (found) tool = *std::move(found);  // Otherwise the desk says why nothing can be changed.
  }
  auto decided =
      co_await options_.desk.Decide(owner, std::move(id), std::move(answer), std::move(tool));
  if (!decided) co_return decided;
  const RunId run = decided->asked.binding.run;
  if (FindLive(owner, run)) co_return decided;  // The desk has notified it.
  const auto resume = [](JournaledRuns& self, IsolationKey whose,
                         RunId which) -> asio::awaitable<void> {
    static_cast<void>(co_await self.Resume(std::move(whose), std::move(which)));
  };
  InBackground(resume(*this, std::move(owner), run));
  co_return decided;
}

asio::awaitable<Result<std::vector<Grant>>> JournaledRuns::Grants(IsolationKey owner) {
  return options_.desk.Grants(std::move(owner));
}

asio::awaitable<Result<void>> JournaledRuns::RevokeGrant(IsolationKey owner, GrantId id,
                                                         std::string by) {
  return options_.desk.Revoke(std::move(owner), std::move(id), std::move(by));
}

// ---- Ending ----

asio::awaitable<Result<RunView>> JournaledRuns::Cancel(IsolationKey owner, RunId id) {
  if (const auto run = FindLive(owner, id)) {
    run->Cancel();
    RunNews::State news = run->news().Look();
    while (!news.ended() && !news.gone) {
      if (co_await run->news().Await(news.version, RunClock::Time::max()) ==
          Wakeup::Reason::kCancelled) {
        co_return Error(ErrorCode::kCancelled, "cancelled while waiting for the end of the run");
      }
      news = run->news().Look();
    }
    if (news.ended()) co_return co_await Whole(std::move(news));
    // It was about to sleep, and does so now, in the store.
  }
  auto view = co_await FindStored(owner, id);
  if (!view || IsFinished(*view)) co_return view;
  auto taken = co_await Take(owner, id);
  if (!taken) {
    if (taken.error().code() != ErrorCode::kFailedPrecondition) co_return std::move(taken).error();
    co_return co_await CancelElsewhere(std::move(owner), std::move(id));
  }
  const Lease lease = *taken->start.lease;
  auto ended = co_await EndTaken(resources_, std::move(taken->start),
                                 {.status = RunStatus::kCancelled, .reason = RunReason::kKilled});
  if (!ended) {
    co_await GiveBack(std::move(owner), std::move(id), lease);
    co_return std::move(ended).error();
  }
  co_return co_await FindStored(std::move(owner), std::move(id));
}

// The one who holds it looks into the store now and then. If it is dead, so is its lease before
// long, and whoever tends the store next ends the run.
asio::awaitable<Result<RunView>> JournaledRuns::CancelElsewhere(IsolationKey owner, RunId id) {
  auto asked = co_await options_.store.runs().AskToCancel(owner, id, resources_.clock.Now());
  if (!asked) co_return std::move(asked).error();
  const auto longest = options_.settings.lease + kCancelRounds * options_.settings.poll;
  auto view = co_await AwaitView(std::move(owner), std::move(id), IsFinished,
                                 std::chrono::steady_clock::now() + longest);
  if (view && !IsFinished(*view)) {
    co_return Error(ErrorCode::kDeadlineExceeded,
                    "the replica that has the run has not ended it yet; it is noted");
  }
  co_return view;
}

// ---- Going on with what others left ----

asio::awaitable<Result<TakenRun>> JournaledRuns::Take(IsolationKey owner, RunId id) {
  return TakeUp(
      resources_,
      [this](const std::string& name, const CallerContext* session) {
        return SettingNamed(name, session);
      },
      std::move(owner), std::move(id));
}

asio::awaitable<Result<void>> JournaledRuns::Resume(IsolationKey owner, RunId id) {
  auto taken = co_await Take(owner, id);
  if (!taken) co_return std::move(taken).error().Context("resume " + id.str());
  const Lease lease = *taken->start.lease;
  if (taken->end) {
    auto ended = co_await EndTaken(resources_, std::move(taken->start), *std::move(taken->end));
    if (!ended) co_await GiveBack(std::move(owner), std::move(id), lease);
    co_return ended;
  }
  auto run = std::make_shared<LiveRun>(resources_, std::move(taken->start), options_.executor);
  if (Launch(std::move(run))) co_return Result<void>();
  co_await GiveBack(std::move(owner), std::move(id), lease);
  co_return Closed();
}

asio::awaitable<void> JournaledRuns::GiveBack(IsolationKey owner, RunId id, Lease lease) {
  static_cast<void>(co_await options_.store.runs().Postpone(std::move(owner), std::move(id), lease,
                                                            {.counts = false}));
}

asio::awaitable<void> JournaledRuns::ResumeIfDecided(IsolationKey owner, RunId id) {
  const auto view = co_await FindStored(owner, id);
  if (!view || IsFinished(*view)) co_return;
  const auto pending = std::ranges::count(view->outcome.calls, "pending", &OutcomeCall::outcome);
  const bool undecided = static_cast<std::size_t>(pending) == view->outcome.approvals.size();
  if (view->state == RunState::kWaiting && undecided) co_return;
  static_cast<void>(co_await Resume(std::move(owner), std::move(id)));
}

// Whoever tends the store does the same, a little later.
asio::awaitable<void> JournaledRuns::WakeLater(IsolationKey owner, RunId id, SystemTime when) {
  const auto alarm = std::make_shared<Wakeup>();
  {
    auto state = state_.Lock();
    if (state->closed) co_return;
    state->alarms.insert(alarm);
  }
  asio::steady_timer timer(co_await asio::this_coro::executor, when - resources_.clock.Now());
  timer.async_wait([alarm](boost::system::error_code) { alarm->Wake(); });
  co_await alarm->Sleep();
  {
    auto state = state_.Lock();
    state->alarms.erase(alarm);
    if (state->closed) co_return;
  }
  // Refused, if another was faster.
  static_cast<void>(co_await Resume(std::move(owner), std::move(id)));
}

asio::awaitable<void> JournaledRuns::RenewLeases() {
  const SystemTime now = resources_.clock.Now();
  {
    auto state = state_.Lock();
    if (now < state->next_renewal) co_return;
    state->next_renewal = now + options_.settings.lease / kRenewals;
  }
  std::vector<HeldRun> held;
  for (const auto& run : AllLive()) {
    if (!run->was_stored_first()) continue;
    held.push_back({run->start().owner, run->start().id, *run->start().lease});
  }
  // A few at a time: each transaction keeps others from these runs until it ends.
  for (std::size_t done = 0; done < held.size(); done += kAtOnce) {
    const auto begin = held.begin() + static_cast<std::ptrdiff_t>(done);
    const auto end = begin + std::min<std::ptrdiff_t>(kAtOnce, held.end() - begin);
    auto lost = co_await options_.store.maintenance().Renew(std::vector(begin, end),
                                                            now + options_.settings.lease);
    if (lost) Abandon(*lost);
  }
}

void JournaledRuns::Abandon(const std::vector<HeldRun>& lost) {
  for (const HeldRun& each : lost) {
    const auto run = FindLive(each.owner, each.run);
    if (run && run->start().lease->fence == each.lease.fence && !run->has_ended()) run->Abandon();
  }
}

// While the store fails nobody can renew a lease, and whoever holds one is not lost: its holder
// gets time for that.
asio::awaitable<bool> JournaledRuns::StoreFailedLately() {
  const bool fails =
      options_.store.health().fails() && !(co_await options_.store.maintenance().CheckWritable());
  const SystemTime now = resources_.clock.Now();
  auto state = state_.Lock();
  if (fails) state->no_resuming_until = now + options_.settings.lease;
  co_return now < state->no_resuming_until;
}

asio::awaitable<void> JournaledRuns::TendOnce() {
  StoreMaintenance& maintenance = options_.store.maintenance();
  co_await RenewLeases();
  RelievePressure();
  static_cast<void>(co_await options_.desk.ExpireDue());
  if (auto decided = co_await maintenance.DecidedRuns(resources_.holder, kAtOnce)) {
    for (const OwnedRun& each : *decided) options_.notifier.Notify(each.owner, each.run);
  }
  if (auto unwanted = co_await maintenance.RunsToCancel(resources_.holder, kAtOnce)) {
    for (const OwnedRun& each : *unwanted) {
      if (const auto run = FindLive(each.owner, each.run)) run->Cancel();
    }
  }
  if (co_await StoreFailedLately()) co_return;
  auto resumable = co_await maintenance.ResumableRuns(resources_.clock.Now(), kAtOnce);
  if (!resumable) co_return;
  for (const OwnedRun& each : *resumable) {
    if (FindLive(each.owner, each.run)) continue;
    co_await RenewLeases();  // Many runs may take longer than a lease.
    // Refused, if another was faster; then there is nothing to do.
    static_cast<void>(co_await Resume(each.owner, each.run));
  }
}

asio::awaitable<void> JournaledRuns::TendUntilClosed() {
  while (true) {
    co_await TendOnce();
    auto enough = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      if (state->closed) co_return;
      state->tending = {enough};
    }
    const auto soon = std::min(options_.settings.poll, options_.settings.lease / kRenewals);
    asio::steady_timer timer(co_await asio::this_coro::executor, soon);
    timer.async_wait([enough](boost::system::error_code) { enough->Wake(); });
    co_await enough->Sleep();
  }
}

void JournaledRuns::Tend() {
  InBackground(TendUntilClosed());
}

asio::awaitable<void> JournaledRuns::Close() {
  std::vector<std::shared_ptr<Wakeup>> tending;
  {
    auto state = state_.Lock();
    state->closed = true;
    tending = std::exchange(state->tending, {});
    tending.insert(tending.end(), state->alarms.begin(), state->alarms.end());
  }
  for (const auto& each : tending) each->Wake();
  patience_.Close();
  for (const auto& run : AllLive()) {
    if (run->parked()) {
      run->Evict();
    } else {
      run->Cancel();
    }
  }
  co_await gate_.Close();
}

}  // namespace caisson
