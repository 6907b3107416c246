// A window is a moment of a run in which a process dies, as of kill -9: "BeginCall:after:2" is right after the second
// BeginCall has returned.
//
// Trust     For tests.
// Threads   Any, once it is set.
// Lifetime  One window per process.
#pragma once

#include <string>

namespace caisson::testing {

enum class Victim {
  kHost,     // This process.
  kWorkers,  // All of its children.
};

void SetWindow(const std::string& window, Victim victim);
// The victims are dead when it returns, if `step` is the window's and was passed often enough. True: just now.
bool PassStep(const std::string& step);
bool WindowWasReached();

// While it lives, and if PassStep says so: whichever child comes new is killed.
class Hunt {
 public:
  explicit Hunt(const std::string& step);
  Hunt(const Hunt&) = delete;
  Hunt& operator=(const Hunt&) = delete;
  ~Hunt();

 private:
  struct Hunter;
  Hunter* hunter_ = nullptr;
};

}  // namespace caisson::testing
