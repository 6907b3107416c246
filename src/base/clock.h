// A Clock tells the current time. Tests replace it.
//
// Trust     Handles no hostile data.
// Threads   Now() and Advance() from any thread.
// Lifetime  Outlives its users.
#pragma once

#include <atomic>
#include <chrono>

namespace caisson {

using SystemTime = std::chrono::system_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual SystemTime Now() const = 0;  // May be called from any thread.
};

class SystemClock final : public Clock {
 public:
  SystemTime Now() const override { return std::chrono::system_clock::now(); }
};

// Changes only when Advance() is called.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(SystemTime now = SystemTime(std::chrono::seconds(1'700'000'000)))
      : now_(now) {}
  SystemTime Now() const override { return now_.load(); }
  void Advance(std::chrono::system_clock::duration by) { now_.store(now_.load() + by); }

 private:
  std::atomic<SystemTime> now_;
};

}  // namespace caisson
