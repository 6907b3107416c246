// Measures saving a waiting cell as sealed bytes, and restoring it.
//
// Trust     Each restored run is answered and must end correctly.
// Threads   Called off the lanes; the work happens on the first one.
// Lifetime  Borrows the engine for the call.
#pragma once

#include "base/result.h"
#include "bench/samples.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::bench {

struct Saving {
  Samples save_us{};     // Save and seal.
  Samples restore_us{};  // Unseal and restore, in a worker that is already running.
  Samples blob_bytes{};  // Sealed.
};

Result<Saving> SaveAndRestore(WasmEngine& engine, int cells);

}  // namespace caisson::bench
