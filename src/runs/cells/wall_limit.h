// A WallLimit counts the wall time that is a run's own, and cancels the run's cell when that is used up. Waiting for a
// person does not count, which is why it is not left to the worker: that counts all the time that passes.
//
// Trust     Ours.
// Threads   The executor of the cell; what it counted can be read anywhere once the cell is let go.
// Lifetime  Shared with its own timer. LetGo() before the cell goes.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "engine/engine.h"
#include "runs/cells/run_clock.h"

namespace caisson {

class WallLimit : public std::enable_shared_from_this<WallLimit> {
 public:
  struct Spent {
    RunClock::Duration active{};
    RunClock::Duration waited{};
  };
  // `before`: what a run that goes on here has spent elsewhere.
  static std::shared_ptr<WallLimit> Begin(Cell& cell, RunClock::Duration most, const Spent& before);

  // Somebody is asked, or has answered.
  void Pause();
  void Continue();
  void LetGo();

  bool is_paused() const { return !clock_.counts(); }
  const RunClock& clock() const { return clock_; }
  // Says in the outcome what the cell cannot know: how long the run took, and that it was this which ended it.
  void Correct(Outcome& outcome) const;

 private:
  WallLimit(Cell& cell, RunClock::Duration most)
      : cell_(&cell), most_(most), timer_(cell.executor()) {}
  void Arm();

  Cell* cell_;
  const RunClock::Duration most_;
  RunClock clock_;
  asio::steady_timer timer_;
  bool reached_ = false;
};

}  // namespace caisson
