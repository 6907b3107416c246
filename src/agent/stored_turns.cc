#include "agent/stored_turns.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "agent/conversation_end.h"
#include "agent/stored_turns_place.h"
#include "agent/turn_items.h"
#include "base/run_on.h"
#include "base/spawn.h"

namespace caisson {
namespace {

Error NoSuchAgent() {
  return Error(ErrorCode::kNotFound, "there is no agent with this name");
}
Error Closed() {
  return Error(ErrorCode::kUnavailable, "shutting down: new turns are not accepted");
}
Error NoSuchTurn() {
  return Error(ErrorCode::kNotFound, "there is no turn with this id");
}

// Keeps a foreground turn: stores it when it has ended.
class ForegroundKeeper final : public TurnKeeper {
 public:
  ForegroundKeeper(Store& store, const TurnStart& start, const Clock& clock, OnTurnEvent on_event)
      : store_(store),
        owner_(start.owner),
        keep_(start.keep),
        length_(start.conversation_length),
        clock_(clock),
        on_event_(std::move(on_event)) {}

  void OnEvent(const TurnEvent& event) override {
    if (on_event_) on_event_(event);
  }
  asio::awaitable<Result<void>> StoreStep(const TurnRecord&) override { co_return Result<void>(); }
  asio::awaitable<Result<void>> StoreEnd(const TurnRecord& record) override {
    if (keep_ == TurnSpec::Keep::kNo) co_return Result<void>();
    const TurnView& view = record.view;
    auto created = co_await store_.responses().Create(owner_, {.id = view.id,
                                                               .previous = view.previous,
                                                               .body = Encode(record),
                                                               .created_at = view.created_at});
    if (!created) co_return created;
    co_return co_await EndInConversation(store_, owner_, view, length_, clock_.Now());
  }
  std::optional<RunKey> KeyOf(const TurnItem&) override { return std::nullopt; }

 private:
  Store& store_;
  const IsolationKey owner_;
  const TurnSpec::Keep keep_;
  const std::int64_t length_;
  const Clock& clock_;
  const OnTurnEvent on_event_;
};

}  // namespace

StoredTurns::StoredTurns(StoredTurnsOptions options)
    : options_(std::move(options)),
      around_{.runs = options_.runs,
              .responses = options_.store.responses(),
              .clock = options_.clock != nullptr ? *options_.clock : system_clock_,
              .history = options_.settings.history},
      holder_(NewTurnItemId("turns_")) {
  for (const auto& agent : options_.agents) agents_.emplace(agent->name, agent);
}

StoredTurns::~StoredTurns() = default;

std::vector<AgentInfo> StoredTurns::Agents() const {
  std::vector<AgentInfo> infos;
  for (const auto& agent : options_.agents) {
    infos.push_back({.name = agent->name, .description = agent->description});
  }
  return infos;
}

Result<StoredTurns::Place> StoredTurns::Enter(const TurnStart& start) {
  const TurnView& view = start.record.view;
  const Key key(start.owner, view.id);
  auto state = state_.Lock();
  if (state->closed) return Closed();
  if (state->ids.contains(key)) {
    return Error(ErrorCode::kFailedPrecondition, "a turn with this id exists");
  }
  const auto count = state->counts.find(start.owner);
  if (count != state->counts.end() && count->second >= options_.settings.max_turns) {
    return Error(ErrorCode::kResourceExhausted,
                 "you have " + std::to_string(count->second) +
                     " turns under way, the most that is possible; try again when one has ended");
  }
  if (view.conversation && !state->conversations.insert({start.owner, *view.conversation}).second) {
    return Error(ErrorCode::kFailedPrecondition,
                 "another turn of this conversation is under way; wait for it or cancel it");
  }
  state->ids.insert(key);
  ++state->counts[start.owner];
  return Place(state_, key, view.conversation);
}

bool StoredTurns::Launch(const Key& key, std::shared_ptr<LiveTurn> turn) {
  auto state = state_.Lock();
  if (state->closed) return false;
  state->live.emplace(key, std::move(turn));
  return true;
}

std::shared_ptr<LiveTurn> StoredTurns::FindLive(const Key& key) {
  auto state = state_.Lock();
  const auto found = state->live.find(key);
  return found == state->live.end() ? nullptr : found->second;
}

std::shared_ptr<const Agent> StoredTurns::FindAgent(const std::string& name) const {
  const auto found = agents_.find(name);
  return found == agents_.end() ? nullptr : found->second;
}

LeaseTerm StoredTurns::Term() const {
  const SystemTime now = around_.clock.Now();
  return {.holder = holder_, .now = now, .until = now + options_.settings.lease};
}

asio::awaitable<Result<void>> StoredTurns::Prepare(TurnStart& start) {
  const TurnView& view = start.record.view;
  if (view.conversation) {
    auto entered = co_await options_.store.turns().EnterConversation(
        start.owner, *view.conversation, view.id, Term());
    if (!entered) co_return entered;
  }
  auto loaded = co_await LoadHistory(around_, start);
  if (loaded) loaded = co_await DecideAnswers(around_, start);
  if (!loaded && view.conversation) {
    static_cast<void>(co_await options_.store.turns().LeaveConversation(
        start.owner, *view.conversation, view.id));
  }
  co_return loaded;
}

asio::awaitable<Result<TurnView>> StoredTurns::Start(IsolationKey owner, TurnSpec spec,
                                                     OnTurnEvent on_event) {
  if (spec.style == TurnSpec::Style::kBackground) {
    auto begun = co_await StartDetached(owner, std::move(spec));
    if (!begun) co_return begun;
    auto told = co_await Events(owner, begun->id, 0, std::move(on_event));
    if (!told) co_return std::move(told).error();
    co_return co_await FindStored(std::move(owner), begun->id);
  }
  const auto pass = gate_.Enter();
  const auto agent = FindAgent(spec.agent);
  if (!agent) co_return NoSuchAgent();
  const bool has_id = spec.id.has_value();
  auto start = MakeTurnStart(std::move(owner), agent, std::move(spec), around_.clock.Now());
  if (!start) co_return std::move(start).error();
  const auto place = Enter(*start);
  if (!place) co_return place.error();
  if (has_id) {
    const auto found = co_await around_.responses.Find(start->owner, start->record.view.id);
    if (found) co_return Error(ErrorCode::kFailedPrecondition, "a turn with this id exists");
    if (found.error().code() != ErrorCode::kNotFound) co_return found.error();
  }
  if (auto prepared = co_await Prepare(*start); !prepared) co_return std::move(prepared).error();
  co_return co_await StartForeground(*std::move(start), std::move(on_event));
}

asio::awaitable<Result<TurnView>> StoredTurns::StartForeground(TurnStart start,
                                                               OnTurnEvent on_event) {
  const Key key(start.owner, start.record.view.id);
  ForegroundKeeper keeper(options_.store, start, around_.clock, std::move(on_event));
  const auto turn = std::make_shared<LiveTurn>(options_.runs, around_.clock, std::move(start),
                                               keeper, co_await asio::this_coro::executor);
  if (!Launch(key, turn)) co_return Closed();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await RunOn(turn->stop(), turn->Live());
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return turn->view();
}

asio::awaitable<Result<TurnRecord>> StoredTurns::LoadRecord(IsolationKey owner, ResponseId id) {
  auto stored = co_await around_.responses.Find(std::move(owner), std::move(id));
  if (!stored) {
    if (stored.error().code() == ErrorCode::kNotFound) co_return NoSuchTurn();
    co_return std::move(stored).error();
  }
  co_return ToRecord(*std::move(stored));
}

asio::awaitable<Result<TurnView>> StoredTurns::FindStored(IsolationKey owner, ResponseId id) {
  auto record = co_await LoadRecord(std::move(owner), std::move(id));
  if (!record) co_return std::move(record).error();
  co_return std::move(record->view);
}

asio::awaitable<Result<TurnView>> StoredTurns::Find(IsolationKey owner, ResponseId id) {
  co_return co_await FindStored(std::move(owner), std::move(id));
}

asio::awaitable<Result<TurnView>> StoredTurns::Cancel(IsolationKey owner, ResponseId id) {
  const Key key(owner, id);
  const auto turn = FindLive(key);
  if (!turn) co_return co_await CancelElsewhere(std::move(owner), std::move(id));
  turn->EndSoon(LiveTurn::Why::kCancelled);
  while (FindLive(key) == turn) {
    const auto news = Watch(key);
    if (FindLive(key) != turn) break;
    if (co_await news->Sleep() == Wakeup::Reason::kCancelled) {
      co_return Error(ErrorCode::kCancelled, "cancelled while waiting for the end of the turn");
    }
  }
  if (turn->is_lost()) co_return co_await FindStored(std::move(owner), std::move(id));
  co_return turn->view();
}

asio::awaitable<Result<void>> StoredTurns::Remove(IsolationKey owner, ResponseId id) {
  auto found = co_await FindStored(owner, id);
  if (!found) co_return std::move(found).error();
  if (!HasEnded(found->state)) {
    co_return Error(ErrorCode::kFailedPrecondition, "the turn has not ended; cancel it first");
  }
  co_return co_await around_.responses.Remove(std::move(owner), std::move(id));
}

asio::awaitable<void> StoredTurns::Close() {
  std::vector<std::shared_ptr<LiveTurn>> live;
  std::shared_ptr<Wakeup> tending;
  {
    auto state = state_.Lock();
    state->closed = true;
    for (const auto& [key, turn] : state->live) live.push_back(turn);
    tending = state->tending;
    for (const auto& [key, watcher] : state->watched) watcher->Wake();
  }
  if (tending) tending->Wake();
  for (const auto& turn : live) {
    const bool is_background = turn->view().style == TurnSpec::Style::kBackground;
    turn->EndSoon(is_background ? LiveTurn::Why::kLost : LiveTurn::Why::kShutdown);
  }
  live.clear();
  co_await gate_.Close();
}

}  // namespace caisson
