// Measures engine native: from the request to the report and to the outcome, with and without
// prepared cells, and the end of a cell.
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
  // Runs this many in a row, one per prepared cell, then pauses until as many are prepared again.
  int burst = 1;
};

struct NativeTimes {
  Samples report_us;  // From the request to the report that the code has ended.
  Samples
      outcome_us;  // To the outcome: the process tree is dead and reaped, its files are captured.
};
Result<NativeTimes> NativeRuns(const Lanes& lanes, NativePlan plan);

// Microseconds from the request to the first call of the code, without a prepared cell. For an
// engine that keeps no spare cells.
Result<Samples> OnDemand(const Lanes& lanes, int runs);

// Microseconds from Cancel() of a busy loop to its outcome.
Result<Samples> KillTimes(const Lanes& lanes, int runs);

// Bytes of each waiting cell, when there are `cells` of them.
Result<Samples> WaitingCellBytes(std::size_t cells);

}  // namespace caisson::bench
