// The Cell of the native engine, which can also start as a copy of another.
//
// Trust     See CellProtocol, which handles the messages.
// Threads   As EngineCell.
// Lifetime  As EngineCell.
#pragma once

#include <cstdint>

#include "engine/host/engine_cell.h"
#include "engine/native/native_lane.h"

namespace caisson {

class NativeCell final : public EngineCell {
 public:
  NativeCell(NativeLane& lane, OwnerId owner, Admission::Place place,
             std::chrono::nanoseconds queued)
      : EngineCell(lane, std::move(owner), std::move(place), queued), lane_(lane) {}

  // Fills the empty cell from saved bytes, in a process of the fork server that made the saved
  // cell.
  asio::awaitable<Result<void>> Restore(std::uint64_t fork_server, SavedCell saved, Limits limits);

 private:
  NativeLane& lane_;
};

}  // namespace caisson
