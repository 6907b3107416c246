// Admission hands out the engine's places, each for one cell on one lane, fairly between owners.
//
// An owner may hold `cells_per_owner` places, and never more than the number of places that remain
// for all others. So however many owners take all they can, the next owner finds a place. Requests
// beyond that wait. A place goes to the owner that has waited longest for a turn and may hold
// another place; nobody overtakes. So an owner with a thousand requests delays the first request of
// another owner by at most one turn. Requests of one owner are served in order of arrival.
//
// Trust     Owners are opaque. An owner that keeps asking holds its own share, fills its own line,
//           and is then refused.
// Threads   Any. Callbacks are called without the lock, on the thread that caused them.
// Lifetime  Outlives every Place and Ticket.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

class Admission {
 public:
  struct Options {
    std::size_t lanes = 1;
    std::size_t cells_per_lane = 1000;
    std::size_t cells = 2000;
    std::size_t cells_per_owner = SIZE_MAX;  // 0: a quarter of `cells`. `cells` or more: no limit.
    std::size_t max_waiting = 10'000;
    std::size_t max_waiting_per_owner = 1'000;
  };
  enum class LaneState { kStarting, kUp, kDown };

  // The right to one cell on `lane`. The destructor gives it back.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          owner_(std::move(other.owner_)),
          lane_(other.lane_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (admission_ != nullptr) admission_->Release(owner_, lane_);
    }
    std::size_t lane() const { return lane_; }

   private:
    friend class Admission;
    Place(Admission& admission, OwnerId owner, std::size_t lane)
        : admission_(&admission), owner_(std::move(owner)), lane_(lane) {}
    Admission* admission_ = nullptr;
    OwnerId owner_{""};
    std::size_t lane_ = 0;
  };

  using Granted = std::move_only_function<void(Result<Place>)>;
  using Ticket = std::uint64_t;

  explicit Admission(Options options);

  // Returns a place at once. nullopt: the request has to wait. Fails with kUnavailable if no lane
  // is up or starting.
  Result<std::optional<Place>> TryTake(const OwnerId& owner,
                                       std::optional<std::size_t> preferred_lane);

  // Returns a place on this lane, for a request that only this lane can serve. nullopt: there is
  // none now.
  Result<std::optional<Place>> TryTakeOn(const OwnerId& owner, std::size_t lane);

  // Joins the line. `granted` is called once unless Leave comes first; it may be called before Join
  // returns. Fails with kResourceExhausted if the line is full.
  Result<Ticket> Join(const OwnerId& owner, Granted granted);
  // Returns true if the ticket was still waiting. Its callback will then not be called.
  bool Leave(Ticket ticket);

  // Only lanes that are up get cells. When all lanes are down, waiting requests fail with `reason`.
  void SetLane(std::size_t lane, LaneState state, std::string reason = {});
  // Refuses all waiting and all later requests.
  void Close();

  // The maximum number of places that one owner may hold.
  std::size_t cells_per_owner() const;

  std::size_t live() const;
  std::size_t waiting() const;
  std::uint64_t refused() const;

 private:
  struct Waiter {
    Ticket ticket;
    Granted granted;
  };
  struct Owner {
    std::size_t cells = 0;
    std::deque<Waiter> line{};
  };
  struct Lane {
    std::size_t cells = 0;
    LaneState state = LaneState::kStarting;
    std::string reason;
  };
  struct State {
    std::vector<Lane> lanes;
    std::size_t live = 0;
    std::size_t waiting = 0;
    std::uint64_t refused = 0;
    Ticket last_ticket = 0;
    bool closed = false;
    std::map<OwnerId, Owner> owners;  // Owners that hold places or wait.
    std::list<OwnerId> turns;         // Owners that wait, in the order of their turns.
    std::map<Ticket, OwnerId> tickets;
  };
  // Callbacks to call after the lock is released.
  using Calls = std::vector<std::pair<Granted, Result<Place>>>;

  void Release(const OwnerId& owner, std::size_t lane);
  bool MayTake(const State& state, const OwnerId& owner) const;
  // Removes the record of an owner that holds nothing and does not wait.
  static void Forget(State& state, const OwnerId& owner);
  bool IsFree(const Lane& lane) const {
    return lane.state == LaneState::kUp && lane.cells < options_.cells_per_lane;
  }
  std::optional<std::size_t> FreeLane(const State& state,
                                      std::optional<std::size_t> preferred) const;
  std::optional<Error> NoLaneWorks(const State& state) const;
  Place Take(State& state, const OwnerId& owner, std::size_t lane);
  using Turn = std::list<OwnerId>::iterator;
  Waiter Pop(State& state, Turn turn);
  void RefuseAll(State& state, const Error& error, Calls& calls);
  void Serve(State& state, Calls& calls);
  static void Call(Calls calls);

  const Options options_;
  mutable Guarded<State> state_;
};

}  // namespace caisson
