// A WallLimit counts the wall time of a run and cancels its cell when the limit is reached. Time in
// which the run waits for a person does not count. The worker cannot do this, because it counts all
// the time that passes.
//
// Trust     Ours.
// Threads   The executor of the cell. The counts can be read on any thread after LetGo().
// Lifetime  Shared with its own timer. Call LetGo() before the cell is destroyed.
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
  // `before`: the time that a resumed run has used in other processes.
  static std::shared_ptr<WallLimit> Begin(Cell& cell, RunClock::Duration most, const Spent& before);

  // Call these when a person is asked, and when the answer has come.
  void Pause();
  void Continue();
  void LetGo();

  bool is_paused() const { return !clock_.counts(); }
  const RunClock& clock() const { return clock_; }
  // Adds to the outcome the wall time of the run, and that this limit ended it.
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
