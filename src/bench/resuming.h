// From somebody's yes to the end of the code that waited for it: parked in memory, and asleep in the store.
//
// The store is in memory, so what is measured is ours: four small transactions and what lies between them.
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
};

Result<Resuming> ResumeRuns(WasmEngine& engine, int runs);

}  // namespace caisson::bench
