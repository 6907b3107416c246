// A TurnService answers with agents. Every door to agents uses it: Responses, AG-UI, the chat at
// the terminal. Each call names the owner; turns of other owners are not found (I3, I4).
//
//   auto turn = co_await turns.Start(owner, {.agent = "analyst", .input = {question}}, on_event);
//   if (turn->state == TurnState::kWaiting) ...   // ApprovalRequests are among its output.
//   turn = co_await turns.Start(owner, {.agent = "analyst", .previous = turn->id,
//                                       .input = {answer}}, on_event);
//
// A turn that waits does nothing. An ApprovalAnswer in a later turn decides the stored approval
// (I5: the stored call is executed, never the client's copy), takes the results of the calls that
// waited, and continues with the model. If an approval was decided at another door, its result is
// taken as well.
//
// Trust     Ids, texts and histories come from clients. A history is the client's word: a call in
//           it never starts anything, and only stored approvals can be answered.
// Threads   Any executor. `on_event` is called on the executor of the turn and must not block.
// Lifetime  Close() must have returned before it is destroyed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "base/result.h"
#include "identity/identity.h"

namespace caisson {

namespace asio = boost::asio;

using OnTurnEvent = std::function<void(const TurnEvent&)>;

struct AgentInfo {
  std::string name;
  std::string description{};
};

class TurnService {
 public:
  virtual ~TurnService() = default;

  virtual std::vector<AgentInfo> Agents() const = 0;

  // Returns when the turn has ended or waits. Cancelling the awaiting coroutine cancels a
  // foreground turn; what it has done so far is kept. Fails, before the first event, with
  //   kNotFound            no such agent, or no such previous turn or conversation of this owner
  //   kInvalidArgument     the input is wrong; an approval is unknown (or foreign: the same answer)
  //   kFailedPrecondition  the id exists, the previous turn still runs, an approval was decided
  //                        differently, or another turn of this conversation runs
  //   kResourceExhausted   too many turns of this owner run, or the history is too long
  virtual asio::awaitable<Result<TurnView>> Start(IsolationKey owner, TurnSpec spec,
                                                  OnTurnEvent on_event) = 0;
  // As Start, for a background turn: returns as soon as the turn is stored.
  virtual asio::awaitable<Result<TurnView>> StartDetached(IsolationKey owner, TurnSpec spec) = 0;

  virtual asio::awaitable<Result<TurnView>> Find(IsolationKey owner, ResponseId id) = 0;
  // Calls `on_event` for each event of a background turn with a number of at least `from`, also for
  // those that come later, and returns after the last one. Fails with kFailedPrecondition if the
  // turn keeps no events.
  virtual asio::awaitable<Result<void>> Events(IsolationKey owner, ResponseId id,
                                               std::uint64_t from, OnTurnEvent on_event) = 0;
  // Ends a turn and its runs. A turn that has ended stays as it is.
  virtual asio::awaitable<Result<TurnView>> Cancel(IsolationKey owner, ResponseId id) = 0;
  // Fails with kFailedPrecondition if the turn runs.
  virtual asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) = 0;

  // Ends foreground turns as failed, gives background turns to other replicas, and returns when no
  // turn runs here.
  virtual asio::awaitable<void> Close() = 0;
};

}  // namespace caisson
