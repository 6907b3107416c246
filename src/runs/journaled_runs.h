// JournaledRuns is the RunService over an engine, a store and keys. Its runs can wait for decisions
// through restarts.
//
//   JournaledRuns runs({.engine = engine, .runner = runner, .store = store, ...});
//   runs.Tend();                 // resumes runs of other replicas, watches leases and expiries
//   ...
//   co_await runs.Close();
//
// A run whose calls may have to wait for a decision is recorded and has a journal. It can be
// parked, sleep in the store and be resumed by any replica. Any other run is only stored when it
// has ended.
//
// Trust     Same as RunService.
// Threads   Any. Runs that may wait live on `executor`, the others on the executor of their caller.
// Lifetime  Close() must have returned before it is destroyed. The objects in Options outlive it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "runs/cells/shutdown_gate.h"
#include "runs/journal/owner_usage.h"
#include "runs/live_run.h"
#include "runs/resumption.h"
#include "runs/run_resources.h"
#include "runs/run_service.h"
#include "runs/setting_source.h"

namespace caisson {

struct JournaledRunsOptions {
  Engine& engine;
  CodeRunner& runner;
  Store& store;
  ApprovalDesk& desk;
  DecisionNotifier& notifier;
  const KeyRing& keys;
  asio::any_io_executor executor;
  SettingSource setting;
  // Other settings, by the names that a RunSpec can give. After a restart, only runs with one of
  // these or with the service's own setting are resumed.
  std::map<std::string, SettingSource> named_settings{};
  CallerHost* caller_host = nullptr;  // Null: runs that act for a caller are not resumed.
  const Clock* clock = nullptr;       // null: the system's clock.
  RunSettings settings{};
};

class JournaledRuns final : public RunService {
 public:
  explicit JournaledRuns(JournaledRunsOptions options);
  ~JournaledRuns() override;

  // Begins to look after the runs that others left in the store, until Close().
  void Tend();
  // Does one round of that work.
  asio::awaitable<void> TendOnce();
  // Resumes the run. Fails with kFailedPrecondition if another process holds it, it waits for a
  // decision, or it has ended.
  asio::awaitable<Result<void>> Resume(IsolationKey owner, RunId id);

  asio::awaitable<Result<RunView>> Start(IsolationKey owner, RunSpec request) override;
  asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, RunSpec request) override;
  asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) override;
  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key) override;
  asio::awaitable<Result<Page<RunView>>> List(IsolationKey owner, std::optional<RunState> state,
                                              PageQuery query) override;
  asio::awaitable<Result<RunView>> Await(IsolationKey owner, RunId id, std::set<std::string> known,
                                         std::chrono::steady_clock::time_point deadline) override;
  asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) override;
  asio::awaitable<Result<std::string>> File(IsolationKey owner, RunId id,
                                            std::uint32_t number) override;
  asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner, ApprovalId id) override;
  asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(IsolationKey owner,
                                                              std::optional<ApprovalState> state,
                                                              PageQuery query) override;
  asio::awaitable<Result<std::shared_ptr<const Tool>>> FindTool(IsolationKey owner,
                                                                ApprovalId id) override;
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                 Answer answer) override;
  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner) override;
  asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id,
                                            std::string by) override;
  asio::awaitable<void> Close() override;

 private:
  using Key = std::pair<IsolationKey, RunId>;
  struct State {
    bool closed = false;
    std::map<Key, std::shared_ptr<LiveRun>> live;
    std::map<IsolationKey, std::size_t> starting;  // Runs that are being stored. No value is 0.
    SystemTime next_renewal{};
    // Until then runs stay with replicas whose leases are over: the store failed, so the replicas
    // could not renew them.
    SystemTime no_resuming_until{};
    // Woken by Close(): the tending loop, and the timers of runs that sleep in the store.
    std::vector<std::shared_ptr<Wakeup>> tending;
    std::set<std::shared_ptr<Wakeup>> alarms;
  };

  // Counts a run of the owner from its request until it is live.
  class Starting;
  // Fails with kResourceExhausted if too many runs of this owner run or wait for a cell.
  Result<Starting> CountStart(const IsolationKey& owner);
  asio::awaitable<Result<std::shared_ptr<LiveRun>>> Begin(IsolationKey owner, RunSpec& request,
                                                          bool stored_first);
  Result<LiveRunStart> MakeStart(IsolationKey owner, RunSpec& request) const;
  std::string NameOf(const std::shared_ptr<const CodeSetting>& setting,
                     const CallerContext* caller) const;
  std::shared_ptr<const CodeSetting> SettingNamed(const std::string& name,
                                                  const CallerContext* session) const;
  asio::awaitable<std::shared_ptr<const CodeSetting>> SettingOf(IsolationKey owner, RunId id);
  asio::awaitable<Result<TakenRun>> Take(IsolationKey owner, RunId id);
  // Returns false after Close().
  bool Launch(std::shared_ptr<LiveRun> run);
  std::shared_ptr<LiveRun> FindLive(const IsolationKey& owner, const RunId& id);
  std::vector<std::shared_ptr<LiveRun>> AllLive();
  void Remove(const LiveRun& run);
  void RelievePressure();

  asio::awaitable<Result<RunView>> FindStored(IsolationKey owner, RunId id);
  asio::awaitable<Result<RunView>> ToView(IsolationKey owner, StoredRun stored);
  asio::awaitable<Result<std::string>> SummaryOf(IsolationKey owner, RunId id);
  // As Await, but returns when `enough` is true.
  asio::awaitable<Result<RunView>> AwaitView(IsolationKey owner, RunId id,
                                             std::function<bool(const RunView&)> enough,
                                             RunClock::Time deadline);
  asio::awaitable<Result<RunView>> AwaitWaking(IsolationKey owner, RunId id);
  asio::awaitable<RunView> Whole(RunNews::State news) const;
  asio::awaitable<Result<RunView>> CancelElsewhere(IsolationKey owner, RunId id);
  // Returns a run that could not continue here. This does not count as an attempt.
  asio::awaitable<void> GiveBack(IsolationKey owner, RunId id, Lease lease);
  void InBackground(asio::awaitable<void> work);
  asio::awaitable<void> TendUntilClosed();
  asio::awaitable<void> ResumeIfDecided(IsolationKey owner, RunId id);
  asio::awaitable<void> WakeLater(IsolationKey owner, RunId id, SystemTime when);
  asio::awaitable<void> RenewLeases();
  void Abandon(const std::vector<HeldRun>& lost);
  asio::awaitable<bool> StoreFailedLately();

  SystemClock system_clock_;
  const JournaledRunsOptions options_;
  TotalUsage total_;
  OwnerUsage usage_;
  StorePatience patience_;
  const RunResources resources_;
  ShutdownGate gate_;
  Guarded<State> state_;
};

}  // namespace caisson
