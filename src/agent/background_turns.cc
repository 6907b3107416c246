// The background turns of StoredTurns: their start, their events, and turns of lost replicas.
#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "agent/stored_turns.h"
#include "agent/stored_turns_place.h"
#include "agent/turn_events.h"
#include "base/spawn.h"

namespace caisson {
namespace {

constexpr std::uint32_t kAtOnce = 64;  // Turns looked after in one round.
constexpr std::uint32_t kEventsAtOnce = 500;
constexpr int kRenewals = 3;      // Of a lease, before it would be over.
constexpr int kCancelRounds = 4;  // Of looking into the store, until a holder has surely seen it.
constexpr std::chrono::milliseconds kLookAgain{100};

// The replica that was lost may have added the turn to its conversation already.
void RemoveOwnItems(TurnStart& start) {
  const TurnView& view = start.record.view;
  const auto& first = view.input.empty() ? view.output : view.input;
  if (first.empty()) return;
  const auto own = std::ranges::find(start.history, first.front().id, &TurnItem::id);
  if (own == start.history.end()) return;
  start.conversation_length = own - start.history.begin();
  start.history.erase(own, start.history.end());
}

}  // namespace

// ---- News ----

void StoredTurns::Tell(const Key& key) {
  std::vector<std::shared_ptr<Wakeup>> watching;
  {
    auto state = state_.Lock();
    std::erase_if(state->watched, [&](auto& each) {
      if (each.first != key) return false;
      watching.push_back(std::move(each.second));
      return true;
    });
  }
  for (const auto& each : watching) each->Wake();
}

std::shared_ptr<Wakeup> StoredTurns::Watch(const Key& key) {
  auto news = std::make_shared<Wakeup>();
  state_.Lock()->watched.emplace_back(key, news);
  return news;
}

// Returns after news, or after `longest` in any case: the turn may be another replica's.
asio::awaitable<void> StoredTurns::AwaitNews(std::shared_ptr<Wakeup> news,
                                             std::chrono::milliseconds longest) {
  asio::steady_timer timer(co_await asio::this_coro::executor, longest);
  timer.async_wait([news](boost::system::error_code) { news->Wake(); });
  co_await news->Sleep();
  timer.cancel();
  std::erase_if(state_.Lock()->watched, [&](const auto& each) { return each.second == news; });
}

asio::awaitable<Result<void>> StoredTurns::Events(IsolationKey owner, ResponseId id,
                                                  std::uint64_t from, OnTurnEvent on_event) {
  const auto pass = gate_.Enter();
  if (!pass) co_return Error(ErrorCode::kUnavailable, "shutting down");
  const Key key(owner, id);
  std::optional<TurnRecord> ended;
  while (true) {
    const auto news = Watch(key);
    auto bodies = co_await options_.store.turns().Events(owner, id, from, kEventsAtOnce);
    if (!bodies) co_return std::move(bodies).error();
    for (const std::string& body : *bodies) {
      auto event = DecodeTurnEvent(body);
      if (!event) co_return std::move(event).error();
      event->number = from++;
      on_event(*event);
    }
    if (co_await IsCancelled()) co_return Error(ErrorCode::kCancelled, "cancelled");
    if (!bodies->empty()) {
      news->Wake();  // Not waited for.
      continue;
    }
    // The last events are stored together with the end, so there are none after it.
    if (ended) {
      if (from <= ended->progress.events) {
        on_event({.number = ended->progress.events, .event = TurnEnded{ended->view.state}});
      }
      co_return Result<void>();
    }
    auto record = co_await LoadRecord(owner, id);
    if (!record) co_return std::move(record).error();
    if (record->view.style != TurnSpec::Style::kBackground) {
      co_return Error(ErrorCode::kFailedPrecondition,
                      "this turn keeps no events: it was not started in the background");
    }
    if (HasEnded(record->view.state)) {
      ended = *std::move(record);
      continue;
    }
    if (state_.Lock()->closed) co_return Error(ErrorCode::kUnavailable, "shutting down");
    co_await AwaitNews(news, kLookAgain);
  }
}

// ---- Starting ----

asio::awaitable<Result<TurnView>> StoredTurns::StartDetached(IsolationKey owner, TurnSpec spec) {
  const auto agent = FindAgent(spec.agent);
  if (!agent) co_return Error(ErrorCode::kNotFound, "there is no agent with this name");
  spec.style = TurnSpec::Style::kBackground;
  auto start = MakeTurnStart(std::move(owner), agent, std::move(spec), around_.clock.Now());
  if (!start) co_return std::move(start).error();
  co_return co_await LaunchBackground(*std::move(start));
}

asio::awaitable<Result<TurnView>> StoredTurns::LaunchBackground(TurnStart start) {
  auto pass = gate_.Enter();
  if (!pass) co_return Error(ErrorCode::kUnavailable, "shutting down: new turns are not accepted");
  auto place = Enter(start);
  if (!place) co_return std::move(place).error();
  if (auto prepared = co_await Prepare(start); !prepared) co_return std::move(prepared).error();
  start.record.view.state = TurnState::kQueued;
  const TurnView view = start.record.view;
  auto lease = co_await options_.store.turns().Begin(start.owner,
                                                     {.id = view.id,
                                                      .previous = view.previous,
                                                      .body = Encode(start.record),
                                                      .created_at = view.created_at},
                                                     Term());
  if (!lease) {
    if (view.conversation) {
      static_cast<void>(co_await options_.store.turns().LeaveConversation(
          start.owner, *view.conversation, view.id));
    }
    co_return std::move(lease).error();
  }
  Run(std::move(start), *std::move(lease), 0, *std::move(place), *std::move(pass));
  co_return view;
}

bool StoredTurns::Run(TurnStart start, Lease lease, std::uint64_t next_event, Place place,
                      ShutdownGate::Pass pass) {
  const Key key(start.owner, start.record.view.id);
  const asio::any_io_executor strand = asio::make_strand(options_.executor);
  // Set when the turn exists.
  const auto turn_of_keeper = std::make_shared<std::weak_ptr<LiveTurn>>();
  const auto keeper = std::make_shared<BackgroundKeeper>(
      BackgroundKeeper::Options{.store = options_.store,
                                .clock = around_.clock,
                                .owner = start.owner,
                                .id = start.record.view.id,
                                .lease = std::move(lease),
                                .next_event = next_event,
                                .conversation_length = start.conversation_length,
                                .settings = options_.settings.background,
                                .on_stored = [this, key] { Tell(key); },
                                .on_lost =
                                    [turn_of_keeper] {
                                      const auto turn = turn_of_keeper->lock();
                                      if (turn) turn->EndSoon(LiveTurn::Why::kLost);
                                    }},
      strand);
  const auto turn =
      std::make_shared<LiveTurn>(options_.runs, around_.clock, std::move(start), *keeper, strand);
  *turn_of_keeper = turn;
  if (!Launch(key, turn)) turn->EndSoon(LiveTurn::Why::kLost);  // Only gives its lease back.
  const auto live = [](std::shared_ptr<LiveTurn> its_turn,
                       std::shared_ptr<BackgroundKeeper> its_keeper) -> asio::awaitable<void> {
    co_await its_turn->Live();
    co_await its_keeper->Finish();
  };
  // The pass is given back last.
  auto ended = [this, key, pass = std::move(pass),
                place = std::make_unique<Place>(std::move(place))]() mutable {
    place.reset();
    Tell(key);
  };
  Spawn(turn->stop(), live(turn, keeper), std::move(ended));
  return true;
}

// ---- Turns of others ----

asio::awaitable<Result<TurnStart>> StoredTurns::Read(const OwnedTurn& found,
                                                     std::uint64_t& next_event) {
  auto record = co_await LoadRecord(found.owner, found.turn);
  if (!record) co_return std::move(record).error();
  auto agent = FindAgent(record->view.agent);
  if (!agent) co_return Error(ErrorCode::kNotFound, "the agent is not here");
  if (record->caller && options_.caller_host == nullptr) {
    co_return Error(ErrorCode::kNotFound, "whom the turn acts for cannot be told here");
  }
  TurnStart start{.owner = found.owner, .agent = std::move(agent), .record = *std::move(record)};
  start.is_taken = true;
  start.adopted = start.record.adopted;
  start.decided = {start.record.decided.begin(), start.record.decided.end()};
  if (start.record.caller) {
    start.caller = std::make_shared<const CallerContext>(
        CallerContext::FromRecord(*options_.caller_host, *start.record.caller));
  }
  std::vector<TurnEvent> events;
  while (true) {
    auto bodies =
        co_await options_.store.turns().Events(found.owner, found.turn, next_event, kEventsAtOnce);
    if (!bodies) co_return std::move(bodies).error();
    for (const std::string& body : *bodies) {
      auto event = DecodeTurnEvent(body);
      if (!event) co_return std::move(event).error();
      events.push_back(*std::move(event));
    }
    next_event += bodies->size();
    if (bodies->size() < kEventsAtOnce) break;
  }
  start.is_taken = next_event > 0;
  start.open = AddEvents(events, start.record.view.output);
  if (auto loaded = co_await LoadHistory(around_, start); !loaded) {
    co_return std::move(loaded).error();
  }
  if (start.record.view.conversation) RemoveOwnItems(start);
  co_return start;
}

asio::awaitable<void> StoredTurns::EndTaken(OwnedTurn found, Lease lease, std::string why) {
  auto record = co_await LoadRecord(found.owner, found.turn);
  if (!record) co_return;
  std::uint64_t next = 0;
  while (true) {
    const auto events =
        co_await options_.store.turns().Events(found.owner, found.turn, next, kEventsAtOnce);
    if (!events) co_return;
    next += events->size();
    if (events->size() < kEventsAtOnce) break;
  }
  TurnView& view = record->view;
  view.state = TurnState::kFailed;
  view.error = std::move(why);
  view.ended_at = around_.clock.Now();
  record->progress.events = next;
  if (view.conversation) {
    static_cast<void>(co_await options_.store.turns().LeaveConversation(
        found.owner, *view.conversation, view.id));
  }
  static_cast<void>(co_await options_.store.turns().End(
      found.owner, found.turn, lease, Encode(*record), {.first = next}, view.ended_at));
}

asio::awaitable<void> StoredTurns::TakeUp(OwnedTurn found) {
  auto pass = gate_.Enter();
  if (!pass) co_return;
  auto claimed = co_await options_.store.turns().Claim(found.owner, found.turn, Term());
  if (!claimed) co_return;  // Another replica was faster.
  if (claimed->attempts > options_.settings.max_attempts) {
    co_return co_await EndTaken(found, claimed->lease,
                                "the process that worked on this turn was lost " +
                                    std::to_string(claimed->attempts - 1) +
                                    " times in a row; the turn is not tried again");
  }
  std::uint64_t next_event = 0;
  auto start = co_await Read(found, next_event);
  if (!start && start.error().code() != ErrorCode::kNotFound && !IsStoreFailure(start.error())) {
    co_return co_await EndTaken(found, claimed->lease, start.error().message());
  }
  if (start) {
    const auto& conversation = start->record.view.conversation;
    if (conversation) {
      auto entered = co_await options_.store.turns().EnterConversation(
          start->owner, *conversation, start->record.view.id, Term());
      if (!entered) start = std::move(entered).error();
    }
  }
  auto place = start ? Enter(*start) : Result<Place>(start.error());
  if (place) {
    Run(*std::move(start), claimed->lease, next_event, *std::move(place), *std::move(pass));
    co_return;
  }
  if (!start && start.error().code() == ErrorCode::kNotFound) {
    state_.Lock()->foreign.emplace(found.owner, found.turn);
  }
  static_cast<void>(
      co_await options_.store.turns().Release(found.owner, found.turn, claimed->lease));
}

asio::awaitable<Result<TurnView>> StoredTurns::CancelElsewhere(IsolationKey owner, ResponseId id) {
  auto view = co_await FindStored(owner, id);
  if (!view || HasEnded(view->state)) co_return view;
  auto asked = co_await options_.store.turns().AskToCancel(owner, id, around_.clock.Now());
  if (!asked) co_return std::move(asked).error();
  const auto longest = options_.settings.lease + kCancelRounds * options_.settings.poll;
  const auto deadline = std::chrono::steady_clock::now() + longest;
  while (true) {
    view = co_await FindStored(owner, id);
    if (!view || HasEnded(view->state)) co_return view;
    if (co_await IsCancelled()) co_return Error(ErrorCode::kCancelled, "cancelled");
    if (std::chrono::steady_clock::now() >= deadline) {
      co_return Error(ErrorCode::kDeadlineExceeded,
                      "the replica that has the turn has not ended it yet; it is noted");
    }
    co_await AwaitNews(Watch({owner, id}), kLookAgain);
  }
}

asio::awaitable<void> StoredTurns::RenewLeases() {
  const SystemTime now = around_.clock.Now();
  {
    auto state = state_.Lock();
    if (state->ids.empty() || now < state->next_renewal) co_return;
    state->next_renewal = now + options_.settings.lease / kRenewals;
  }
  static_cast<void>(
      co_await options_.store.maintenance().RenewTurns(holder_, now + options_.settings.lease));
}

asio::awaitable<void> StoredTurns::TendOnce() {
  StoreMaintenance& maintenance = options_.store.maintenance();
  co_await RenewLeases();
  if (auto unwanted = co_await maintenance.TurnsToCancel(holder_, kAtOnce)) {
    for (const OwnedTurn& each : *unwanted) {
      if (const auto turn = FindLive({each.owner, each.turn})) {
        turn->EndSoon(LiveTurn::Why::kCancelled);
      }
    }
  }
  auto lost = co_await maintenance.TurnsToTake(around_.clock.Now(), kAtOnce);
  if (!lost) co_return;
  for (const OwnedTurn& each : *lost) {
    {
      auto state = state_.Lock();
      const Key key(each.owner, each.turn);
      if (state->closed) co_return;
      if (state->foreign.contains(key) || state->ids.contains(key)) continue;
    }
    co_await TakeUp(each);
  }
}

asio::awaitable<void> StoredTurns::TendUntilClosed() {
  while (true) {
    co_await TendOnce();
    const auto enough = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      if (state->closed) co_return;
      state->tending = enough;
    }
    const auto soon = std::min(options_.settings.poll, options_.settings.lease / kRenewals);
    asio::steady_timer timer(co_await asio::this_coro::executor, soon);
    timer.async_wait([enough](boost::system::error_code) { enough->Wake(); });
    co_await enough->Sleep();
  }
}

void StoredTurns::Tend() {
  auto pass = gate_.Enter();
  if (!pass) return;
  Spawn(options_.executor, TendUntilClosed(), [pass = *std::move(pass)] {});
}

}  // namespace caisson
