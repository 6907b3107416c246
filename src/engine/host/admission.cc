#include "engine/host/admission.h"

#include <algorithm>

namespace caisson {

namespace {

Admission::Options WithShares(Admission::Options options) {
  if (options.cells_per_owner == 0) {
    options.cells_per_owner = std::max<std::size_t>(1, options.cells / 4);
  }
  return options;
}

}  // namespace

Admission::Admission(Options options) : options_(WithShares(options)) {
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

bool Admission::MayTake(const State& state, const OwnerId& owner) const {
  if (options_.cells_per_owner >= options_.cells) return true;
  const auto found = state.owners.find(owner);
  const std::size_t own = found == state.owners.end() ? 0 : found->second.cells;
  return own < options_.cells_per_owner && own <= options_.cells - state.live;
}

std::size_t Admission::cells_per_owner() const {
  return std::min(options_.cells_per_owner, options_.cells);
}

Admission::Place Admission::Take(State& state, const OwnerId& owner, std::size_t lane) {
  ++state.live;
  ++state.lanes[lane].cells;
  ++state.owners[owner].cells;
  return Place(*this, owner, lane);
}

void Admission::Forget(State& state, const OwnerId& owner) {
  const auto found = state.owners.find(owner);
  if (found->second.cells == 0 && found->second.line.empty()) state.owners.erase(found);
}

Result<std::optional<Admission::Place>> Admission::TryTake(
    const OwnerId& owner, std::optional<std::size_t> preferred_lane) {
  auto state = state_.Lock();
  // If a place is free while other owners wait, those owners may not take it.
  if (!state->closed && MayTake(*state, owner)) {
    if (auto lane = FreeLane(*state, preferred_lane)) {
      return std::optional(Take(*state, owner, *lane));
    }
  }
  if (auto error = NoLaneWorks(*state)) return *std::move(error);
  return std::optional<Place>();
}

Result<std::optional<Admission::Place>> Admission::TryTakeOn(const OwnerId& owner,
                                                             std::size_t lane) {
  auto state = state_.Lock();
  if (auto error = NoLaneWorks(*state)) return *std::move(error);
  if (state->live < options_.cells && IsFree(state->lanes[lane]) && MayTake(*state, owner)) {
    return std::optional(Take(*state, owner, lane));
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
    const std::size_t own = found == state->owners.end() ? 0 : found->second.line.size();
    if (own >= options_.max_waiting_per_owner) {
      ++state->refused;
      return Error(ErrorCode::kResourceExhausted,
                   "too many of your runs wait for a cell already (" + std::to_string(own) +
                       "); try again when some have ended");
    }
    if (state->waiting >= options_.max_waiting) {
      ++state->refused;
      return Error(ErrorCode::kResourceExhausted, "too many requests wait for a cell already (" +
                                                      std::to_string(state->waiting) +
                                                      "); try again later");
    }
    ticket = ++state->last_ticket;
    if (own == 0) state->turns.push_back(owner);
    state->owners[owner].line.push_back({ticket, std::move(granted)});
    state->tickets.emplace(ticket, owner);
    ++state->waiting;
    Serve(*state, calls);
  }
  Call(std::move(calls));
  return ticket;
}

bool Admission::Leave(Ticket ticket) {
  Granted gone;  // Destroyed after the lock is released: it may own objects that call back.
  auto state = state_.Lock();
  const auto entry = state->tickets.find(ticket);
  if (entry == state->tickets.end()) return false;
  const OwnerId owner = std::move(entry->second);
  auto& line = state->owners.at(owner).line;
  const auto waiter = std::ranges::find(line, ticket, &Waiter::ticket);
  gone = std::move(waiter->granted);
  line.erase(waiter);
  if (line.empty()) state->turns.remove(owner);
  Forget(*state, owner);
  state->tickets.erase(entry);
  --state->waiting;
  return true;
}

Admission::Waiter Admission::Pop(State& state, Turn turn) {
  const OwnerId owner = std::move(*turn);
  state.turns.erase(turn);
  auto& line = state.owners.at(owner).line;
  Waiter waiter = std::move(line.front());
  line.pop_front();
  if (!line.empty()) state.turns.push_back(owner);
  Forget(state, owner);
  state.tickets.erase(waiter.ticket);
  --state.waiting;
  return waiter;
}

void Admission::Serve(State& state, Calls& calls) {
  while (const auto lane = FreeLane(state, std::nullopt)) {
    const auto turn = std::ranges::find_if(
        state.turns, [&](const OwnerId& owner) { return MayTake(state, owner); });
    if (turn == state.turns.end()) return;
    const OwnerId owner = *turn;
    Waiter waiter = Pop(state, turn);
    calls.emplace_back(std::move(waiter.granted), Take(state, owner, *lane));
  }
}

void Admission::RefuseAll(State& state, const Error& error, Calls& calls) {
  while (!state.turns.empty()) {
    calls.emplace_back(Pop(state, state.turns.begin()).granted, error);
  }
}

void Admission::Call(Calls calls) {
  for (auto& [granted, place] : calls) granted(std::move(place));
}

void Admission::Release(const OwnerId& owner, std::size_t lane) {
  Calls calls;
  {
    auto state = state_.Lock();
    --state->live;
    --state->lanes[lane].cells;
    --state->owners.at(owner).cells;
    Forget(*state, owner);
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
    if (auto error = NoLaneWorks(*state)) RefuseAll(*state, *error, calls);
  }
  Call(std::move(calls));
}

void Admission::Close() {
  Calls calls;
  {
    auto state = state_.Lock();
    state->closed = true;
    RefuseAll(*state, *NoLaneWorks(*state), calls);
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
