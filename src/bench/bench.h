// Measures everything that can be measured with this build and returns the report.
//
// Trust     A wrong answer of a run ends the benchmark with an error.
// Threads   Blocks; must not be called on a lane. `progress` is called on the calling thread.
// Lifetime  Engines are created and destroyed within the call.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/bench_report.h"

namespace caisson::bench {

struct Options {
  std::string tier;
  std::string installation{};  // Same as for FindInstallation.
  std::string program{};       // The path of caisson, for the cold start; empty: not measured.
  bool quick = false;          // Fewer samples: seconds instead of a minute.
  std::string only{};          // Measures only metrics whose name starts with this.
  std::function<void(std::string_view name)> progress = [](std::string_view) {};
};

Result<Report> Measure(const Options& options);

}  // namespace caisson::bench
