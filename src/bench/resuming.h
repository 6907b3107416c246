// Measures from an approval to the end of the code that waited for it: parked in memory, and saved
// in the store.
//
// The store is in memory. The cost of its own necessary writes is measured separately: the same
// four transactions one after the other, with nothing between them.
//
// Trust     Each run must end correctly, and its effect must happen once.
// Threads   Blocks; must not be called on a lane.
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
