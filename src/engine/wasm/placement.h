// Placement decides on which core a lane's thread runs in relation to its worker.
//
// On the same core, waking each other costs 2 us of switching; waking across cores costs 30 us. On
// two cores, while both poll the ring instead of sleeping, passing a message costs a third of a
// microsecond, and the worker cleans up one run while the host handles the next. That is worthwhile
// only while runs and calls follow each other closely and there is a spare core for every busy
// lane.
//
// Trust     Nothing hostile reaches it: it counts the turns of its own lane.
// Threads   The lane's thread, which it moves. All lanes of the engine share `busy`.
// Lifetime  Owned by its lane.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson {

class Placement {
 public:
  // `own` is the core of the worker; the lane's thread starts there too. nullopt: neither is pinned
  // to a core, now or later.
  Placement(std::optional<int> own, std::vector<int> cores, std::atomic<std::size_t>& busy);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Call it when the lane has handled frames of its worker.
  void OnTurn();
  // Call it regularly while the lane has work. `interval` is the time since the last call.
  void OnTick(std::chrono::nanoseconds interval);

  bool apart() const { return apart_; }

 private:
  void SetBusy(bool busy);
  void Choose();
  void MoveTo(bool apart);

  const std::optional<int> own_;
  const std::vector<int> cores_;
  std::atomic<std::size_t>& busy_lanes_;
  std::chrono::steady_clock::time_point burst_began_{};
  std::uint32_t burst_turns_ = 0;
  std::uint32_t tick_turns_ = 0;
  bool busy_ = false;
  bool apart_ = false;
};

}  // namespace caisson
