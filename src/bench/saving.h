// Putting a waiting cell to sleep as sealed bytes, and waking it.
//
// Trust     Each restored run is answered and must end rightly.
// Threads   Called off the lanes; the work happens on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include "base/result.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

struct Saving {
  Samples save_us{};     // Save and seal.
  Samples restore_us{};  // Unseal and restore, in a worker that runs already.
  Samples blob_bytes{};  // Sealed.
};

Result<Saving> SaveAndRestore(WasmEngine& engine, int cells);

}  // namespace caisson::bench
