// The Cell of the wasm engine, which can also be restored from saved bytes.
//
// Trust     See CellSession, which handles the messages.
// Threads   As SessionCell.
// Lifetime  As SessionCell.
#pragma once

#include "engine/session/session_cell.h"
#include "engine/wasm/lane.h"

namespace caisson {

class WasmCell final : public SessionCell {
 public:
  WasmCell(Lane& lane, OwnerId owner, Admission::Place place, std::chrono::nanoseconds queued)
      : SessionCell(lane, std::move(owner), std::move(place), queued), lane_(lane) {}

  // Fills the empty cell from saved bytes.
  asio::awaitable<Result<void>> Restore(SavedCell saved, Limits limits);

 private:
  Lane& lane_;
};

}  // namespace caisson
