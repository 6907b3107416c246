// Runs the same small programs in a cell and in the system's python3; each measures its own time.
//
// Trust     Both must print the same. The times they measured inside are compared.
// Threads   Called off the lanes; cells run on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

struct Compute {
  struct Program {
    std::string name;
    Samples ratios{};  // Time in the cell over time in python3, one per round.
  };
  std::vector<Program> programs{};
  Samples geometric_means{};  // Over all programs, one per round.
};

Result<Compute> CompareWithPython(WasmEngine& engine, const std::string& python, int rounds);

}  // namespace caisson::bench
