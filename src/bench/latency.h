// From the request to the outcome, one run after another on one lane.
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
  std::optional<Value> result{};  // What each run must give,
  std::string output{};           // and print.
  int runs = 0;
  std::chrono::nanoseconds idle{};  // Pause before each run: nobody has used the worker meanwhile.
};

// Microseconds of each run, every one in a fresh cell.
Result<Samples> FreshRuns(const Lanes& lanes, LatencyPlan plan);

// Microseconds of ten runs in one stateful cell, the cell's opening included.
Result<Samples> TenRunsInOneCell(WasmEngine& engine, int sessions);

// How many microseconds after its wall time an endless loop is reported as ended.
Result<Samples> TimeoutOvershoot(WasmEngine& engine, int runs);

}  // namespace caisson::bench
