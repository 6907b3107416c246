// Measures processes from their start to their end.
//
// Trust     Runs caisson and the system's python3, both with an empty environment.
// Threads   Blocks.
// Lifetime  Each process is gone before the call returns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Returns the path of the system's python3: /usr/bin/python3, otherwise the one in PATH.
std::optional<std::string> FindPython();

// "3.11.2"
Result<std::string> PythonVersion(const std::string& python);

// Microseconds from the start to the end of a process that must print `output`.
struct ColdPlan {
  std::vector<std::string> argv;
  std::string input{};
  std::string output{};
  int runs = 0;
};
Result<Samples> ColdStarts(const ColdPlan& plan);

}  // namespace caisson::bench
