#include "workflow/combined_turns.h"

#include <algorithm>

namespace caisson {

std::vector<AgentInfo> CombinedTurns::Agents() const {
  std::vector<AgentInfo> all;
  for (const TurnService* each : services_) {
    for (AgentInfo& info : each->Agents()) all.push_back(std::move(info));
  }
  return all;
}

TurnService& CombinedTurns::Named(const std::string& agent) const {
  for (TurnService* each : services_) {
    const auto infos = each->Agents();
    if (std::ranges::find(infos, agent, &AgentInfo::name) != infos.end()) return *each;
  }
  return *services_.back();
}

asio::awaitable<TurnService*> CombinedTurns::Having(IsolationKey owner, ResponseId id) const {
  for (TurnService* each : services_) {
    if (each == services_.back()) break;
    const auto found = co_await each->Find(owner, id);
    if (found || found.error().code() != ErrorCode::kNotFound) co_return each;
  }
  co_return services_.back();
}

asio::awaitable<Result<TurnView>> CombinedTurns::Start(IsolationKey owner, TurnSpec spec,
                                                       OnTurnEvent on_event) {
  TurnService& service = Named(spec.agent);
  return service.Start(std::move(owner), std::move(spec), std::move(on_event));
}

asio::awaitable<Result<TurnView>> CombinedTurns::StartDetached(IsolationKey owner, TurnSpec spec) {
  TurnService& service = Named(spec.agent);
  return service.StartDetached(std::move(owner), std::move(spec));
}

asio::awaitable<Result<TurnView>> CombinedTurns::Find(IsolationKey owner, ResponseId id) {
  for (TurnService* each : services_) {
    auto found = co_await each->Find(owner, id);
    const bool missing = !found && found.error().code() == ErrorCode::kNotFound;
    if (!missing || each == services_.back()) co_return found;
  }
  co_return Error(ErrorCode::kNotFound, "no such response");
}

asio::awaitable<Result<void>> CombinedTurns::Events(IsolationKey owner, ResponseId id,
                                                    std::uint64_t from, OnTurnEvent on_event) {
  TurnService* const service = co_await Having(owner, id);
  co_return co_await service->Events(std::move(owner), std::move(id), from, std::move(on_event));
}

asio::awaitable<Result<TurnView>> CombinedTurns::Cancel(IsolationKey owner, ResponseId id) {
  TurnService* const service = co_await Having(owner, id);
  co_return co_await service->Cancel(std::move(owner), std::move(id));
}

asio::awaitable<Result<void>> CombinedTurns::Remove(IsolationKey owner, ResponseId id) {
  TurnService* const service = co_await Having(owner, id);
  co_return co_await service->Remove(std::move(owner), std::move(id));
}

asio::awaitable<void> CombinedTurns::Close() {
  for (TurnService* each : services_) co_await each->Close();
}

}  // namespace caisson
