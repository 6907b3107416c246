// Measures many runs and many cells at once.
//
// Trust     Every outcome is checked.
// Threads   Called off the lanes; the work happens on all of them.
// Lifetime  Borrows the engine for the call. The memory measurements need a fresh engine, in which
//           nothing has grown before.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/result.h"
#include "bench/lane_work.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

// Fresh runs of 1+1 per second on all lanes; one sample per period.
Result<Samples> RunsPerSecond(const Lanes& lanes, int periods, std::chrono::nanoseconds period);

// Bytes per cell, including the host's, while `cells` of them have run 1+1 and are kept.
Result<double> LiveCellBytes(WasmEngine& engine, std::size_t cells);

// Bytes per cell, including the host's, while `cells` of them wait for the answer to a call. They
// are then answered in random order, and each must continue correctly.
Result<double> ParkedCellBytes(WasmEngine& engine, std::size_t cells);

}  // namespace caisson::bench
