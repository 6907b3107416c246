// Interrupts turns the first SIGINT, SIGTERM or SIGHUP into a request to stop; the second ends the
// process at once, whatever it is doing. Workers die with us either way. A program that goes on
// after Ctrl-C listens with ListenAlways and decides each time.
//
// Trust     Signals come from the user and the system.
// Threads   Make it before any other thread: the signals are blocked from here on, in every thread
//           that is started later. Callbacks are called on a thread of its own.
// Lifetime  The destructor stops listening. The signals stay blocked: it is for the end of a
//           program.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::cli {

class Interrupts {
 public:
  Interrupts() = default;
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  Result<void> Listen(std::function<void()> on_first);
  Result<void> ListenAlways(std::function<void(int signal)> on_signal);

  // The first signal that came; 0 if none has.
  int signal() const { return signal_.load(); }

 private:
  void Loop();

  std::function<void(int signal)> on_signal_;
  UniqueFd signals_;
  UniqueFd stop_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

}  // namespace caisson::cli
