// Checks the request for a turn, loads its history, and stores the decisions that it brings.
//
// Trust     Everything in a TurnSpec comes from a client. Items that claim to be calls become plain
//           history: nothing of them is started or awaited. An answer counts only if the approval
//           is
//           this owner's and belongs to a call of this history or, if the client sent the history
//           itself, to a run of this agent.
// Threads   Any executor.
// Lifetime  What TurnSurroundings names outlives the coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/agent.h"
#include "agent/live_turn.h"
#include "base/clock.h"
#include "base/result.h"
#include "runs/run_service.h"
#include "store/responses.h"

namespace caisson {

struct HistoryLimits {
  std::uint32_t turns = 1000;  // Of one chain.
  std::uint32_t items = 20'000;
  std::uint64_t bytes = std::uint64_t{16} << 20;
};

struct TurnSurroundings {
  RunService& runs;
  ResponseStore& responses;
  const Clock& clock;
  HistoryLimits history{};
};

// Moves the parts of `spec` to where a turn keeps them. Fails as TurnService::Start.
Result<TurnStart> MakeTurnStart(IsolationKey owner, std::shared_ptr<const Agent> agent,
                                TurnSpec spec, SystemTime now);

// Loads `start.history`.
asio::awaitable<Result<void>> LoadHistory(const TurnSurroundings& around, TurnStart& start);

// Decides the approvals that the input answers: all of them or, if one of the answers is wrong,
// none.
asio::awaitable<Result<void>> DecideAnswers(const TurnSurroundings& around, TurnStart& start);

// Returns the view of a stored turn.
Result<TurnRecord> ToRecord(StoredResponse stored);

}  // namespace caisson
