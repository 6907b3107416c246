// CombinedTurns is one TurnService over several: agents and workflows are reached by name through
// the same doors.
//
// Trust     Same as TurnService.
// Threads   Same as TurnService.
// Lifetime  The services outlive it. Close() closes them in order.
#pragma once

#include <utility>
#include <vector>

#include "agent/turn_service.h"

namespace caisson {

class CombinedTurns final : public TurnService {
 public:
  // Never empty. Names and ids are looked for in this order.
  explicit CombinedTurns(std::vector<TurnService*> services) : services_(std::move(services)) {}

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

 private:
  TurnService& Named(const std::string& agent) const;
  // The service that has this turn; the last one if none has.
  asio::awaitable<TurnService*> Having(IsolationKey owner, ResponseId id) const;

  const std::vector<TurnService*> services_;  // None is null.
};

}  // namespace caisson
