// Measures everything this build can be measured in, and says what it found.
//
// Trust     A wrong answer of a run ends the benchmark with an error.
// Threads   Blocks; not on a lane. `progress` is called on the calling thread.
// Lifetime  Engines are made and gone within the call.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/report.h"

namespace caisson::bench {

struct Options {
  std::string tier;
  std::string installation{};  // As FindInstallation has it.
  std::string program{};       // Our own program, for the cold start; empty: not measured.
  bool quick = false;          // Fewer samples: seconds instead of a minute.
  std::string only{};          // Measured are metrics whose name begins with this.
  std::function<void(std::string_view name)> progress = [](std::string_view) {};
};

Result<Report> Measure(const Options& options);

}  // namespace caisson::bench
