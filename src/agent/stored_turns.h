// StoredTurns is the TurnService over a RunService and a store.
//
//   JournaledRuns runs({..., .named_settings = {{"agent:" + agent->name, agent->setting}}});
//   StoredTurns turns({.agents = {agent},
//                      .runs = runs,
//                      .store = store,
//                      .executor = io.get_executor()});
//   turns.Tend();
//   ...
//   co_await turns.Close();   // Before the runs.
//
// A foreground turn is stored once, at its end, and writes nothing before; a turn of a conversation
// also marks the conversation. The calls of agents are runs with the setting of the agent, which
// the service of the runs must know by the name "agent:" + name; otherwise a call that waits is
// lost with this process.
//
// Background turns and conversations are held under a lease. If a replica dies, another one that
// calls Tend() continues its background turns from their last step, with the runs that they have
// started.
//
// Trust     Same as TurnService.
// Threads   Any executor that runs one handler at a time. A foreground turn works on the executor
//           of the coroutine that awaits Start(), and calls `on_event` there.
// Lifetime  Close() must have returned before it is destroyed. The objects in Options outlive it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/background_keeper.h"
#include "agent/live_turn.h"
#include "agent/turn_beginning.h"
#include "agent/turn_service.h"
#include "base/guarded.h"
#include "base/wakeup.h"
#include "runs/cells/shutdown_gate.h"
#include "runs/run_service.h"
#include "store/store.h"

namespace caisson {

struct TurnSettings {
  std::size_t max_turns = 64;  // That one owner may have under way on this replica.
  HistoryLimits history{};
  BackgroundSettings background{};
  // A replica that does not renew its leases for this long loses its turns. Renewed three times as
  // often.
  std::chrono::milliseconds lease{5000};
  std::chrono::milliseconds poll{250};  // Interval of looking into the store for what others did.
  std::int64_t max_attempts = 5;        // Of taking a turn that makes no progress.
};

struct StoredTurnsOptions {
  std::vector<std::shared_ptr<const Agent>> agents;  // With different names.
  RunService& runs;
  Store& store;
  asio::any_io_executor executor;     // Of background turns.
  CallerHost* caller_host = nullptr;  // Null: background turns with a caller stay on their replica.
  const Clock* clock = nullptr;       // Null: the system's clock.
  TurnSettings settings{};
};

class StoredTurns final : public TurnService {
 public:
  explicit StoredTurns(StoredTurnsOptions options);
  ~StoredTurns() override;

  std::vector<AgentInfo> Agents() const override;
  asio::awaitable<Result<TurnView>> Start(IsolationKey owner, TurnSpec spec,
                                          OnTurnEvent on_event) override;
  asio::awaitable<Result<TurnView>> StartDetached(IsolationKey owner, TurnSpec spec) override;
  asio::awaitable<Result<TurnView>> Find(IsolationKey owner, ResponseId id) override;
  asio::awaitable<Result<void>> Events(IsolationKey owner, ResponseId id, std::uint64_t from,
                                       OnTurnEvent on_event) override;
  asio::awaitable<Result<TurnView>> Cancel(IsolationKey owner, ResponseId id) override;
  asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) override;
  asio::awaitable<void> Close() override;

  // Begins to look after the turns that others left in the store, until Close().
  void Tend();
  // Does one round of that work.
  asio::awaitable<void> TendOnce();

 private:
  using Key = std::pair<IsolationKey, ResponseId>;
  struct State {
    bool closed = false;
    std::map<Key, std::shared_ptr<LiveTurn>> live;
    std::set<Key> ids;  // Of turns that begin or are live.
    std::map<IsolationKey, std::size_t> counts;
    std::set<std::pair<IsolationKey, ConversationId>> conversations;
    std::vector<std::pair<Key, std::shared_ptr<Wakeup>>> watched;  // Woken by news of a turn.
    std::shared_ptr<Wakeup> tending;
    std::set<Key> foreign;  // Turns of agents that are not here.
    SystemTime next_renewal{};
  };
  class Place;

  // Takes a place for a turn of the owner.
  Result<Place> Enter(const TurnStart& start);
  bool Launch(const Key& key, std::shared_ptr<LiveTurn> turn);
  std::shared_ptr<LiveTurn> FindLive(const Key& key);
  std::shared_ptr<const Agent> FindAgent(const std::string& name) const;
  LeaseTerm Term() const;
  asio::awaitable<Result<void>> Prepare(TurnStart& start);
  asio::awaitable<Result<TurnRecord>> LoadRecord(IsolationKey owner, ResponseId id);
  asio::awaitable<Result<TurnView>> FindStored(IsolationKey owner, ResponseId id);
  asio::awaitable<Result<TurnView>> StartForeground(TurnStart start, OnTurnEvent on_event);

  // ---- Background turns ----
  // The watched turn has news.
  void Tell(const Key& key);
  std::shared_ptr<Wakeup> Watch(const Key& key);
  asio::awaitable<void> AwaitNews(std::shared_ptr<Wakeup> news, std::chrono::milliseconds longest);
  asio::awaitable<Result<TurnView>> LaunchBackground(TurnStart start);
  bool Run(TurnStart start, Lease lease, std::uint64_t next_event, Place place,
           ShutdownGate::Pass pass);
  asio::awaitable<void> TakeUp(OwnedTurn found);
  asio::awaitable<Result<TurnStart>> Read(const OwnedTurn& found, std::uint64_t& next_event);
  asio::awaitable<void> EndTaken(OwnedTurn found, Lease lease, std::string why);
  asio::awaitable<Result<TurnView>> CancelElsewhere(IsolationKey owner, ResponseId id);
  asio::awaitable<void> TendUntilClosed();
  asio::awaitable<void> RenewLeases();

  SystemClock system_clock_;
  const StoredTurnsOptions options_;
  std::map<std::string, std::shared_ptr<const Agent>> agents_;
  const TurnSurroundings around_;
  const std::string holder_;  // The name of this process in leases.
  ShutdownGate gate_;
  Guarded<State> state_;
};

}  // namespace caisson
