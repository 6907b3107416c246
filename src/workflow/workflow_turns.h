// WorkflowTurns is the TurnService of workflows: doors that serve agents serve workflows by name in
// the same way.
//
//   WorkflowTurns turns({.workflows = service, .runs = runs, .responses = store.responses()});
//   auto turn = co_await turns.Start(owner, {.agent = "report", .input = {message}}, on_event);
//   // kWaiting: its output has ClientCalls of the tool "request_info", one for each question, and
//   // ApprovalRequests.
//   turn = co_await turns.Start(owner, {.agent = "report", .previous = turn->id,
//                                       .input = {ClientResult{call_id, ...}}}, on_event);
//
// A turn begins an instance, or continues the one of the turn that it follows if that one waits.
// Text never answers a question: only a ClientResult with the id of its call does.
//
// If a process is killed, its turns stay stored as running. A turn that follows such a turn answers
// the instance if that waits; otherwise any message makes the instance go on.
//
// Trust     Same as TurnService. Stored turns have the instance; clients never name it.
// Threads   Any executor that runs one handler at a time. `on_event` is called on it.
// Lifetime  Close() must have returned before it is destroyed. The options outlive it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/turn_service.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "runs/cells/shutdown_gate.h"
#include "runs/run_service.h"
#include "store/responses.h"
#include "workflow/workflow_service.h"

namespace caisson {

// The name of the ClientCall that asks a person. Its arguments: executor, prompt, message, response
// (the JSON Schema of an answer).
inline constexpr const char* kRequestInfo = "request_info";

struct WorkflowTurnsOptions {
  WorkflowService& workflows;
  RunService& runs;
  ResponseStore& responses;
  const Clock* clock = nullptr;  // Null: the system's clock.
};

class WorkflowTurns final : public TurnService {
 public:
  explicit WorkflowTurns(WorkflowTurnsOptions options) : options_(options) {}

  std::vector<AgentInfo> Agents() const override;
  // Fails with kInvalidArgument for what workflows do not have: background turns, conversations,
  // tools of the client.
  asio::awaitable<Result<TurnView>> Start(IsolationKey owner, TurnSpec spec,
                                          OnTurnEvent on_event) override;
  asio::awaitable<Result<TurnView>> StartDetached(IsolationKey owner, TurnSpec spec) override;
  asio::awaitable<Result<TurnView>> Find(IsolationKey owner, ResponseId id) override;
  // Fails with kFailedPrecondition: these turns keep no events.
  asio::awaitable<Result<void>> Events(IsolationKey owner, ResponseId id, std::uint64_t from,
                                       OnTurnEvent on_event) override;
  // Returns the turn as it is: it ends with the request that started it.
  asio::awaitable<Result<TurnView>> Cancel(IsolationKey owner, ResponseId id) override;
  asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) override;
  asio::awaitable<void> Close() override;

 private:
  struct Stored {
    TurnView view;
    InstanceId instance;
  };
  class Live;
  class Entry;

  asio::awaitable<Result<Stored>> Load(IsolationKey owner, ResponseId id);
  asio::awaitable<Result<TurnView>> Run(IsolationKey owner, TurnSpec spec, OnTurnEvent on_event);
  // Whether this process works on the turn.
  bool IsLive(const IsolationKey& owner, const ResponseId& id) const;
  asio::awaitable<Result<TurnView>> GoOn(Live& live, const Stored& previous);
  asio::awaitable<Result<void>> Continue(Live& live, const Stored& previous);
  asio::awaitable<Result<void>> Decide(const Live& live);
  asio::awaitable<Result<void>> Claim(Live& live);
  asio::awaitable<void> Forget(const Live& live);
  asio::awaitable<TurnView> Finish(Live& live, Result<WorkflowView> result);
  asio::awaitable<void> AddQuestions(Live& live, const WorkflowView& view);
  SystemTime Now() const;

  SystemClock system_clock_;
  const WorkflowTurnsOptions options_;
  ShutdownGate gate_;
  mutable Guarded<std::set<std::pair<IsolationKey, ResponseId>>> live_{};  // Turns that run here.
};

}  // namespace caisson
