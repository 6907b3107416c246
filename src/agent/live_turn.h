// A LiveTurn is one turn while this process works on it: it asks the model, makes the calls of each
// reply side by side, and asks again, until the model answers or something ends the turn.
//
// Each call is a run. A call that waits for a decision ends the turn as kWaiting once the other
// calls have ended. A later turn takes the result of the run and asks the model again.
//
// Trust     Replies, arguments and results are hostile content. Only the tools that the model was
//           offered are called.
// Threads   Live() and all events on one executor, which runs one handler at a time. EndSoon() from
//           anywhere.
// Lifetime  Shared by its service and its coroutine. What TurnSurroundings names outlives it.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/reply_items.h"
#include "agent/turn_history.h"
#include "agent/turn_output.h"
#include "agent/turn_record.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/spawn.h"
#include "base/wakeup.h"
#include "identity/identity.h"
#include "runs/run_service.h"

namespace caisson {

// Keeps a turn: stores it and takes its events.
class TurnKeeper {
 public:
  virtual ~TurnKeeper() = default;

  virtual void OnEvent(const TurnEvent& event) = 0;
  // The turn has come further; its next calls are about to be made. A failure ends the turn before
  // they are made.
  virtual asio::awaitable<Result<void>> StoreStep(const TurnRecord& record) = 0;
  // The turn has ended. A failure is reported to the client.
  virtual asio::awaitable<Result<void>> StoreEnd(const TurnRecord& record) = 0;
  // The key under which another replica finds the run of this call. nullopt: no other replica
  // continues the turn.
  virtual std::optional<RunKey> KeyOf(const TurnItem& call) = 0;
};

struct TurnStart {
  IsolationKey owner;
  std::shared_ptr<const Agent> agent;
  TurnRecord record{};
  std::vector<TurnItem> history{};       // All that happened before this turn's input.
  std::int64_t conversation_length = 0;  // In items, if the turn is in a conversation.
  // Calls that wait and that no item of the history has, because the client sent the history.
  std::vector<TurnItem> adopted{};
  std::set<ApprovalId> decided{};  // By the answers of this turn.
  // If another replica began the turn: the items of its output that are not done.
  bool is_taken = false;
  std::set<std::string> open{};
  TurnSpec::Keep keep = TurnSpec::Keep::kYes;
  std::shared_ptr<const CallerContext> caller{};
};

class LiveTurn final : public std::enable_shared_from_this<LiveTurn> {
 public:
  enum class Why { kNotStopped, kCancelled, kWallTime, kShutdown, kLost };

  LiveTurn(RunService& runs, const Clock& clock, TurnStart start, TurnKeeper& keeper,
           asio::any_io_executor executor);

  // Works until the turn has ended. Called once, on the executor. Cancelling it ends the turn.
  asio::awaitable<void> Live();

  // Ends the turn soon. kLost: another replica has it; nothing more is stored.
  void EndSoon(Why why);
  const Stop& stop() const { return stop_; }
  const IsolationKey& owner() const { return start_.owner; }
  // After Live() has returned.
  const TurnView& view() const { return record().view; }
  bool is_lost() const { return why_.load() == Why::kLost; }

 private:
  TurnRecord& record() { return start_.record; }
  const TurnRecord& record() const { return start_.record; }
  const TurnLimits& limits() const { return start_.agent->limits; }
  std::uint32_t max_calls() const;
  bool is_stopped() const { return why_.load() != Why::kNotStopped; }
  // Whether the coroutine was cancelled or EndSoon was called.
  asio::awaitable<bool> Stopped();
  bool HasNews() const;
  ItemRefs AllItems() const;

  asio::awaitable<void> Work();
  void End(TurnState state, TurnEnding ending = TurnEnding::kNone, std::string error = {});
  void EndStopped();
  asio::awaitable<void> CancelWaiting();

  // ---- Calls of earlier turns ----
  asio::awaitable<void> TakeResults();
  asio::awaitable<void> TakeResult(TurnItem call);
  asio::awaitable<void> TellChanges(TurnItem& ended);
  asio::awaitable<Result<RunView>> AwaitSettled(RunId run);
  // Whether the run waits, and no decision about it is on its way.
  asio::awaitable<bool> IsSettled(const RunView& view);

  // ---- The model ----
  void PrepareRequest();
  asio::awaitable<bool> AddContext();
  model::ModelRequest MakeRequest() const;
  // Returns false if the turn has ended.
  asio::awaitable<bool> Ask(std::vector<CallOfReply>& calls);
  bool EndsHere(const model::ModelReply& reply);
  CallKind KindOf(const std::string& tool) const;

  // ---- Calls of this turn ----
  // Continues with the calls that another replica has begun. Returns false if the turn has ended.
  asio::awaitable<bool> ContinueCalls();
  // Returns false if the turn has ended.
  asio::awaitable<bool> AwaitCalls(const std::vector<CallOfReply>& own, bool has_clients,
                                   bool is_over);
  // Returns false if the turn has ended.
  asio::awaitable<bool> MakeCalls(const std::vector<CallOfReply>& calls);
  std::vector<CallOfReply> Admitted(const std::vector<CallOfReply>& calls);
  asio::awaitable<void> MakeCall(std::size_t index, std::string arguments);
  Result<RunSpec> SpecOf(const TurnItem& call, const std::string& arguments);
  asio::awaitable<Result<RunView>> StartRun(std::size_t index, RunSpec spec);
  void FinishCall(std::size_t index, const Result<RunView>& run);
  asio::awaitable<void> AskForApprovals();
  asio::awaitable<void> AskFor(std::string call_item, ApprovalId id);
  asio::awaitable<void> AwaitAll();
  void Begin(asio::awaitable<void> work);
  std::optional<TurnItem> EndedCall(TurnItem call, const Result<RunView>& run);
  void Publish(TurnItem ended);

  RunService& runs_;
  const Clock& clock_;
  TurnStart start_;
  TurnKeeper& keeper_;
  const Stop stop_;
  TurnOutput output_;
  std::shared_ptr<const CodeSetting> setting_;
  std::atomic<Why> why_ = Why::kNotStopped;
  model::ModelRequest request_;             // What all requests of this turn have.
  std::map<std::string, RunView> waiting_;  // By the id of the call's item.
  std::optional<Error> fault_;              // The store or the service of the runs failed.
  std::size_t at_work_ = 0;
  std::vector<Stop> stops_;
  std::shared_ptr<Wakeup> news_;
};

}  // namespace caisson
