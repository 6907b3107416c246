// A SingleTurn takes one turn of an agent from its start to its end on a plain thread, for programs
// without an event loop.
//
//   SingleTurn turn(host->turns(), owner);
//   auto view = turn.Perform({.agent = "analyst", .input = {question}}, Show);
//
// Trust     Same as TurnService.
// Threads   Perform() blocks its caller. Events arrive on that same thread, which may block in
//           them. Cancel() from any thread.
// Lifetime  Borrows the turns. Serves one Perform().
#pragma once

#include <boost/asio/io_context.hpp>
#include <utility>

#include "agent/turn_service.h"
#include "base/result.h"
#include "base/spawn.h"

namespace caisson {

class SingleTurn {
 public:
  SingleTurn(TurnService& turns, IsolationKey owner) : turns_(turns), owner_(std::move(owner)) {}
  SingleTurn(const SingleTurn&) = delete;
  SingleTurn& operator=(const SingleTurn&) = delete;

  // As TurnService::Start.
  Result<TurnView> Perform(TurnSpec spec, OnTurnEvent on_event);

  // Ends the turn; what it has done is kept. Can be called any number of times, also before
  // Perform() and after it.
  void Cancel() { stop_.Request(); }

 private:
  TurnService& turns_;
  const IsolationKey owner_;
  asio::io_context caller_{1};
  const Stop stop_{caller_.get_executor()};
};

}  // namespace caisson
