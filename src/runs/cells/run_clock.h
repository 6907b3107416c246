// A RunClock counts the active time of a run, without the time that it waits for people.
//
// Trust     Ours.
// Threads   One.
// Lifetime  A value.
#pragma once

#include <chrono>

namespace caisson {

class RunClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  void Begin(Duration active, Duration waited) {
    active_ = active;
    waited_ = waited;
    counts_ = true;
    since_ = std::chrono::steady_clock::now();
  }
  // The run begins to wait; the run continues.
  void Pause() { Turn(false); }
  void Continue() { Turn(true); }

  bool counts() const { return counts_; }
  Duration active() const { return active_ + (counts_ ? Passed() : Duration{}); }
  Duration waited() const { return waited_ + (counts_ ? Duration{} : Passed()); }

 private:
  Duration Passed() const { return std::chrono::steady_clock::now() - since_; }
  void Turn(bool counts) {
    (counts_ ? active_ : waited_) += Passed();
    since_ = std::chrono::steady_clock::now();
    counts_ = counts;
  }

  Duration active_{};
  Duration waited_{};
  Time since_ = std::chrono::steady_clock::now();
  bool counts_ = false;
};

}  // namespace caisson
