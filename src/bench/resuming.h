// From somebody's yes to the end of the code that waited for it: parked in memory, and asleep in the store.
//
// The store is in memory. What its own writes cost, those that no run can go on without, is measured beside it: the same four
// transactions one after the other, with nothing between them.
//
// Trust     Each run must end rightly, and its effect happen once.
// Threads   Blocks; not on a lane.
// Lifetime  Borrows the engine for the call.
#pragma once

#include "base/result.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

struct Resuming {
  Samples parked_us{};
  Samples saved_us{};
  Samples store_us{};
};

Result<Resuming> ResumeRuns(WasmEngine& engine, int runs);

}  // namespace caisson::bench
