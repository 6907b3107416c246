// What engine native costs: from the request to the report and to the outcome, with cells that wait and
// without, and the end of a cell.
//
// Trust     Every outcome is checked.
// Threads   Called off the lanes; the work happens on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bench/lane_work.h"
#include "bench/samples.h"
#include "engine/engine.h"

namespace caisson::bench {

struct NativePlan {
  RunRequest request;
  std::optional<Value> result{};
  int runs = 0;
  // As many one after another as cells wait for them; then a pause in which as many are made again.
  int burst = 1;
};

struct NativeTimes {
  Samples report_us;  // From the request to the report of the code's end.
  Samples
      outcome_us;  // To the outcome: the process tree is dead and reaped, its files are captured.
};
Result<NativeTimes> NativeRuns(const Lanes& lanes, NativePlan plan);

// Microseconds from the request to the first call of the code, which nobody had prepared a cell for.
// For an engine that keeps no spare cells.
Result<Samples> OnDemand(const Lanes& lanes, int runs);

// Microseconds from Cancel() of a busy loop to its outcome.
Result<Samples> KillTimes(const Lanes& lanes, int runs);

// Bytes of each cell that waits, once there are `cells` of them.
Result<Samples> WaitingCellBytes(std::size_t cells);

}  // namespace caisson::bench
