// The Cell of the wasm engine, which can also be restored from saved bytes.
//
// Trust     See CellProtocol, which handles the messages.
// Threads   As EngineCell.
// Lifetime  As EngineCell.
#pragma once

#include "engine/host/engine_cell.h"
#include "engine/wasm/lane.h"

namespace caisson {

class WasmCell final : public EngineCell {
 public:
  WasmCell(Lane& lane, OwnerId owner, Admission::Place place, std::chrono::nanoseconds queued)
      : EngineCell(lane, std::move(owner), std::move(place), queued), lane_(lane) {}

  // Fills the empty cell from saved bytes.
  asio::awaitable<Result<void>> Restore(SavedCell saved, Limits limits);

 private:
  Lane& lane_;
};

}  // namespace caisson
