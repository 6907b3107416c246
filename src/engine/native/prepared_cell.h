// A NativePreparedCell is the handle of a native cell that was made before its run.
//
// Trust     Trusted; the process behind it is confined like every cell and has seen no code.
// Threads   Suits() and Take() on the lane; the destructor on any thread.
// Lifetime  The lane outlives it. The process may end first (its time was up, its fork server was
//           lost). Otherwise it ends with this object, unless it was taken.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/host/engine_lane.h"
#include "engine/native/cell_pool.h"
#include "engine/native/cell_process.h"

namespace caisson {

class NativePreparedCell final : public PreparedCell {
 public:
  NativePreparedCell(EngineLane& lane, CellPool& pool, const std::shared_ptr<CellProcess>& cell)
      : lane_(lane), pool_(pool), cell_(cell) {}
  ~NativePreparedCell() override;

  EngineLane& lane() const { return lane_; }
  CellPool& pool() const { return pool_; }

  // Returns whether it still waits and equals a cell made for these needs. Mounts must be the same
  // directories, with unchanged owners.
  bool Suits(const CellNeeds& needs) const;
  // Returns null if it is gone.
  std::shared_ptr<CellProcess> Take();

 private:
  EngineLane& lane_;
  CellPool& pool_;
  std::weak_ptr<CellProcess> cell_;  // Weak: a cell that is gone must not keep a directory open.
};

}  // namespace caisson
