// A NativePreparedCell is how whoever had a native cell made ahead of its run has a hold on it.
//
// Trust     Ours; the process behind it is confined like every cell and has seen no code.
// Threads   Suits() and Take() on the lane; its end on any thread.
// Lifetime  The lane outlives it. The process may end before it (its time was up, its nursery was lost), and ends with it
//           unless it was taken.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/native/cell_pool.h"
#include "engine/native/cell_process.h"
#include "engine/session/engine_lane.h"

namespace caisson {

class NativePreparedCell final : public PreparedCell {
 public:
  NativePreparedCell(EngineLane& lane, CellPool& pool, const std::shared_ptr<CellProcess>& cell)
      : lane_(lane), pool_(pool), cell_(cell) {}
  ~NativePreparedCell() override;

  EngineLane& lane() const { return lane_; }
  CellPool& pool() const { return pool_; }

  // Whether it still waits, and is what a cell for these needs would be. Of mounts: the very directories, with
  // the owners that they had.
  bool Suits(const CellNeeds& needs) const;
  // Null if it is gone.
  std::shared_ptr<CellProcess> Take();

 private:
  EngineLane& lane_;
  CellPool& pool_;
  std::weak_ptr<CellProcess> cell_;  // Weak: once it is gone it must hold no directory open.
};

}  // namespace caisson
