// The Cell of the native engine: one that can also begin as the copy of another.
//
// Trust     See CellSession, which does the talking.
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

  // Fills the empty cell from saved bytes, in a process of the nursery that the saved one came from.
  asio::awaitable<Result<void>> Restore(std::uint64_t nursery, SavedCell saved, Limits limits);

 private:
  NativeLane& lane_;
};

}  // namespace caisson
