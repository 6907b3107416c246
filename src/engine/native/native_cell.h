// The Cell of the native engine, which can also start as a copy of another.
//
// Trust     See CellSession, which handles the messages.
// Threads   As SessionCell.
// Lifetime  As SessionCell.
#pragma once

#include <cstdint>

#include "engine/native/native_lane.h"
#include "engine/session/session_cell.h"

namespace caisson {

class NativeCell final : public SessionCell {
 public:
  NativeCell(NativeLane& lane, OwnerId owner, Admission::Place place,
             std::chrono::nanoseconds queued)
      : SessionCell(lane, std::move(owner), std::move(place), queued), lane_(lane) {}

  // Fills the empty cell from saved bytes, in a process of the nursery that made the saved cell.
  asio::awaitable<Result<void>> Restore(std::uint64_t nursery, SavedCell saved, Limits limits);

 private:
  NativeLane& lane_;
};

}  // namespace caisson
