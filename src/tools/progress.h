// How far a tool's call has come, as the tool says while it is at work.
//
// Trust     Numbers and text may be an upstream's: finite, of bounded length, true or not.
// Threads   OnProgress is called from any thread and must not block.
// Lifetime  Values. Whoever is told owns, or shares, what it touches: a last word may come late.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace caisson {

struct ToolProgress {
  double done = 0;
  std::optional<double> total{};
  std::string message{};
};
using OnProgress = std::function<void(const ToolProgress&)>;

// The same, of one tool among others.
using OnToolProgress = std::function<void(const std::string& tool, const ToolProgress&)>;

}  // namespace caisson
