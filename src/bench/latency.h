// Measures from the request to the outcome, one run after another on one lane.
//
// Trust     Every outcome is checked.
// Threads   Called off the lanes; the work happens on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/lane_work.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

struct LatencyPlan {
  RunRequest request;
  std::optional<Value> result{};  // The expected result of each run,
  std::string output{};           // and its output.
  int runs = 0;
  std::chrono::nanoseconds idle{};  // Pause before each run, in which the worker is idle.
};

// Microseconds of each run, each in a fresh cell.
Result<Samples> FreshRuns(const Lanes& lanes, LatencyPlan plan);

// Microseconds of ten runs in one stateful cell, including the opening of the cell.
Result<Samples> TenRunsInOneCell(WasmEngine& engine, int sessions);

// Microseconds from the wall time limit of an endless loop to its outcome.
Result<Samples> TimeoutOvershoot(WasmEngine& engine, int runs);

}  // namespace caisson::bench
