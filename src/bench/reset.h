// Making a cell's memory the snapshot again after a run.
//
// Trust     Reads the base that the workers map; compares what comes out with it.
// Threads   Any; blocks.
// Lifetime  Maps the base for the call.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Microseconds of one reset, in this process instead of a worker: every page has been written to that all runs write to.
Result<Samples> ResetTimes(const std::string& base_path, int resets);

}  // namespace caisson::bench
