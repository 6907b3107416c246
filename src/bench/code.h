// Measures code that takes the whole path, through a CodeRunner: checked by the policy, calling
// tools.
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
  std::chrono::nanoseconds pause{};  // Before each run, so that a prepared cell is ready.
};

// Microseconds of a run that calls a C++ function a hundred times, one after the other.
Result<Samples> HundredCalls(const Lanes& lanes, CodePlan plan);
// Microseconds of `1+1` with fifty tools offered and none called.
Result<Samples> FiftyTools(const Lanes& lanes, CodePlan plan);
// Microseconds of a run that makes a thousand gathered calls.
Result<Samples> ThousandGathered(const Lanes& lanes, CodePlan plan);
// Microseconds of a run that reads a small file of a directory mounted in this mode, one run after
// the other.
Result<Samples> MountedRuns(const Lanes& lanes, MountMode mode, CodePlan plan);
// Microseconds of a run that may have four processes.
Result<Samples> FourProcesses(const Lanes& lanes, CodePlan plan);
// Microseconds to check 200 typical lines of code. Nothing is executed.
Result<Samples> CheckedLines(const Lanes& lanes, CodePlan plan);

}  // namespace caisson::bench
