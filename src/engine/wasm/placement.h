// Placement decides where a lane's thread runs in relation to its worker.
//
// Together, on one core: waking each other costs 2 us of switching, where waking across cores costs 30.
// Apart, on two cores: while both watch the ring instead of sleeping, handing over costs a third of a
// microsecond, and the worker cleans up one run while the host sees to the next. That pays only as long
// as runs and calls follow each other closely and there is a core to spare for every busy lane.
//
// Trust     Nothing hostile reaches it: it counts the turns of its own lane.
// Threads   The lane's, which it moves; `busy` is shared by all lanes of the engine.
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
  // `own` is the core of the worker; the lane's thread begins there too.
  // Nothing: neither is tied to a core, and both stay that way.
  Placement(std::optional<int> own, std::vector<int> cores, std::atomic<std::size_t>& busy);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // The lane has handled frames of its worker.
  void OnTurn();
  // To be called now and then while the lane has anything to do; `interval` has passed since.
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
