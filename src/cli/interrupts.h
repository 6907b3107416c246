// Interrupts turns the first SIGINT, SIGTERM or SIGHUP into a request to stop. The second one ends
// the process at once. Workers end with the process in both cases. A program that continues after
// Ctrl-C uses ListenAlways and decides about each signal.
//
// Trust     Signals come from the user and the system.
// Threads   Create it before any other thread: it blocks the signals in this thread and in every
//           thread that is started later. Callbacks run on a thread of its own.
// Lifetime  The destructor stops listening. The signals stay blocked, so destroy it at the end of
//           the program.
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

  // Returns the first signal that arrived; 0: none.
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
