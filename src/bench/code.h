// What code costs that goes the whole way, through a CodeRunner: checked by the policy, calling tools.
//
// Trust     Every outcome is checked.
// Threads   Called off the lanes; the work happens on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include <chrono>

#include "base/result.h"
#include "bench/lane_work.h"
#include "bench/samples.h"
#include "engine/host_files.h"

namespace caisson::bench {

struct CodePlan {
  int runs = 0;
  std::chrono::nanoseconds pause{};  // Before each run, so that a cell waits for it.
};

// Microseconds of a run that makes a hundred calls of a C++ function, one after the other.
Result<Samples> HundredCalls(const Lanes& lanes, CodePlan plan);
// Microseconds of `1+1` where fifty tools are offered, none of which is called.
Result<Samples> FiftyTools(const Lanes& lanes, CodePlan plan);
// Of a run that makes a thousand calls, gathered.
Result<Samples> ThousandGathered(const Lanes& lanes, CodePlan plan);
// Of a run that reads a small file of a directory that is mounted like this, one such run after the other.
Result<Samples> MountedRuns(const Lanes& lanes, MountMode mode, CodePlan plan);
// Of a run that may have four processes.
Result<Samples> FourProcesses(const Lanes& lanes, CodePlan plan);
// Microseconds to check 200 lines that an honest model could have written. Nothing is executed.
Result<Samples> CheckedLines(const Lanes& lanes, CodePlan plan);

}  // namespace caisson::bench
