#include "engine/session/admission.h"

#include <algorithm>

namespace caisson {

Admission::Admission(Options options) : options_(options) {
  state_.Lock()->lanes.resize(options.lanes);
}

std::optional<std::size_t> Admission::FreeLane(const State& state,
                                               std::optional<std::size_t> preferred) const {
  if (state.live >= options_.cells) return std::nullopt;
  if (preferred && IsFree(state.lanes[*preferred])) return preferred;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < state.lanes.size(); ++i) {
    if (!IsFree(state.lanes[i])) continue;
    if (!best || state.lanes[i].cells < state.lanes[*best].cells) best = i;
  }
  return best;
}

std::optional<Error> Admission::NoLaneWorks(const State& state) const {
  if (state.closed) return Error(ErrorCode::kUnavailable, "the engine is shutting down");
  std::string reason;
  for (const Lane& lane : state.lanes) {
    if (lane.state != LaneState::kDown) return std::nullopt;
    if (!lane.reason.empty()) reason = lane.reason;
  }
  return Error(ErrorCode::kUnavailable, "no worker can be started: " + reason);
}

Admission::Place Admission::Take(State& state, std::size_t lane) {
  ++state.live;
  ++state.lanes[lane].cells;
  return Place(*this, lane);
}

Result<std::optional<Admission::Place>> Admission::TryTake(
    std::optional<std::size_t> preferred_lane) {
  auto state = state_.Lock();
  if (state->waiting == 0 && !state->closed) {
    if (auto lane = FreeLane(*state, preferred_lane)) return std::optional(Take(*state, *lane));
  }
  if (auto error = NoLaneWorks(*state)) return *std::move(error);
  return std::optional<Place>();
}

Result<std::optional<Admission::Place>> Admission::TryTakeOn(std::size_t lane) {
  auto state = state_.Lock();
  if (auto error = NoLaneWorks(*state)) return *std::move(error);
  // Somebody who waits would have had it.
  if (state->live < options_.cells && IsFree(state->lanes[lane])) {
    return std::optional(Take(*state, lane));
  }
  return std::optional<Place>();
}

Result<Admission::Ticket> Admission::Join(const OwnerId& owner, Granted granted) {
  Calls calls;
  Ticket ticket = 0;
  {
    auto state = state_.Lock();
    if (auto error = NoLaneWorks(*state)) return *std::move(error);
    const auto found = state->owners.find(owner);
    const std::size_t own = found == state->owners.end() ? 0 : found->second.size();
    if (state->waiting >= options_.max_waiting || own >= options_.max_waiting_per_owner) {
      ++state->refused;
      return Error(ErrorCode::kResourceExhausted, "too many requests wait for a cell already (" +
                                                      std::to_string(state->waiting) +
                                                      "); try again later");
    }
    ticket = ++state->last_ticket;
    if (own == 0) state->turns.push_back(owner);
    state->owners[owner].push_back({ticket, std::move(granted)});
    state->tickets.emplace(ticket, owner);
    ++state->waiting;
    Serve(*state, calls);
  }
  Call(std::move(calls));
  return ticket;
}

bool Admission::Leave(Ticket ticket) {
  Granted gone;  // Destroyed after the lock: it may own things that call back.
  auto state = state_.Lock();
  const auto entry = state->tickets.find(ticket);
  if (entry == state->tickets.end()) return false;
  const auto owner = state->owners.find(entry->second);
  auto& line = owner->second;
  const auto waiter = std::ranges::find(line, ticket, &Waiter::ticket);
  gone = std::move(waiter->granted);
  line.erase(waiter);
  if (line.empty()) {
    state->turns.remove(entry->second);
    state->owners.erase(owner);
  }
  state->tickets.erase(entry);
  --state->waiting;
  return true;
}

Admission::Waiter Admission::PopNext(State& state) {
  const OwnerId owner = std::move(state.turns.front());
  state.turns.pop_front();
  const auto found = state.owners.find(owner);
  Waiter waiter = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    state.owners.erase(found);
  } else {
    state.turns.push_back(owner);
  }
  state.tickets.erase(waiter.ticket);
  --state.waiting;
  return waiter;
}

void Admission::Serve(State& state, Calls& calls) {
  while (state.waiting > 0) {
    const auto lane = FreeLane(state, std::nullopt);
    if (!lane) return;
    Waiter waiter = PopNext(state);
    calls.emplace_back(std::move(waiter.granted), Take(state, *lane));
  }
}

void Admission::Call(Calls calls) {
  for (auto& [granted, place] : calls) granted(std::move(place));
}

void Admission::Release(std::size_t lane) {
  Calls calls;
  {
    auto state = state_.Lock();
    --state->live;
    --state->lanes[lane].cells;
    if (state->waiting > 0) Serve(*state, calls);
  }
  Call(std::move(calls));
}

void Admission::SetLane(std::size_t lane, LaneState lane_state, std::string reason) {
  Calls calls;
  {
    auto state = state_.Lock();
    state->lanes[lane].state = lane_state;
    state->lanes[lane].reason = std::move(reason);
    Serve(*state, calls);
    if (auto error = NoLaneWorks(*state)) {
      while (state->waiting > 0) calls.emplace_back(PopNext(*state).granted, *error);
    }
  }
  Call(std::move(calls));
}

void Admission::Close() {
  Calls calls;
  {
    auto state = state_.Lock();
    state->closed = true;
    const auto error = NoLaneWorks(*state);
    while (state->waiting > 0) calls.emplace_back(PopNext(*state).granted, *error);
  }
  Call(std::move(calls));
}

std::size_t Admission::live() const {
  return state_.Lock()->live;
}
std::size_t Admission::waiting() const {
  return state_.Lock()->waiting;
}
std::uint64_t Admission::refused() const {
  return state_.Lock()->refused;
}

}  // namespace caisson
