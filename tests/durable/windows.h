// A window is a moment of a run in which a process is killed as by kill -9: "BeginCall:after:2" is
// right after the second BeginCall has returned.
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
// Kills the victims if `step` is the window's and was passed often enough. They are dead when it
// returns true.
bool PassStep(const std::string& step);
bool WindowWasReached();

// While it exists, and if PassStep returned true: kills every new child.
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
