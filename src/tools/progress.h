// The progress of a tool's call, as reported by the tool.
//
// Trust     Numbers and text may be an upstream's: finite, of bounded length, but possibly false.
// Threads   OnProgress is called from any thread and must not block.
// Lifetime  Values. The callback owns or shares everything that it uses, because a last report may
//           come late.
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

// The same, for one of several tools.
using OnToolProgress = std::function<void(const std::string& tool, const ToolProgress&)>;

}  // namespace caisson
