#include "runs/cells/wall_limit.h"

#include <algorithm>

namespace caisson {

std::shared_ptr<WallLimit> WallLimit::Begin(Cell& cell, RunClock::Duration most,
                                            const Spent& before) {
  std::shared_ptr<WallLimit> limit(new WallLimit(cell, most));
  limit->clock_.Begin(before.active, before.waited);
  limit->Arm();
  return limit;
}

void WallLimit::Arm() {
  timer_.expires_after(std::max(most_ - clock_.active(), RunClock::Duration{}));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    // The clock may have been stopped when this was on its way already.
    if (error || !self || self->cell_ == nullptr || !self->clock_.counts()) return;
    self->reached_ = true;
    self->cell_->Cancel();
  });
}

void WallLimit::Pause() {
  clock_.Pause();
  timer_.cancel();
}

void WallLimit::Continue() {
  clock_.Continue();
  Arm();
}

void WallLimit::LetGo() {
  clock_.Pause();
  timer_.cancel();
  cell_ = nullptr;
}

void WallLimit::Correct(Outcome& outcome) const {
  outcome.usage.wall = clock_.active();
  if (!reached_ || outcome.status != RunStatus::kCancelled) return;
  outcome.status = RunStatus::kLimit;
  outcome.reason = RunReason::kWallTime;
}

}  // namespace caisson
