// Measures the reset of a cell's memory to the snapshot after a run.
//
// Trust     Reads the base that the workers map and compares the result with it.
// Threads   Any; blocks.
// Lifetime  Maps the base for the call.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Microseconds of one reset, in this process instead of a worker, after writing to every page that
// all runs write to.
Result<Samples> ResetTimes(const std::string& base_path, int resets);

}  // namespace caisson::bench
