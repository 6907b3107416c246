#include "engine/native/prepared_cell.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace caisson {
namespace {

bool ShowTheSame(const HostFiles& prepared, const HostFiles& needed) {
  if (!std::ranges::equal(prepared.mounts(), needed.mounts())) return false;
  for (std::uint32_t i = 0; i < needed.mounts().size(); ++i) {
    const auto id = needed.directory_id(i);
    if (!id || id != prepared.directory_id(i)) return false;
  }
  return true;
}

}  // namespace

NativePreparedCell::~NativePreparedCell() {
  if (cell_.expired()) return;
  asio::post(lane_.context(), [cell = std::move(cell_)] {
    if (const auto here = cell.lock()) here->Kill();
  });
}

bool NativePreparedCell::Suits(const CellNeeds& needs) const {
  const auto cell = cell_.lock();
  if (cell == nullptr || !cell->waits() || !cell->IsAlive()) return false;
  const auto& mounts = cell->variety().mounts;
  if (cell->variety() != CellVariety::For(needs, mounts)) return false;
  const bool needs_mounts = needs.host_files && !needs.host_files->mounts().empty();
  if (!mounts || !needs_mounts) return !mounts && !needs_mounts;
  return ShowTheSame(*mounts->files(), *needs.host_files);
}

std::shared_ptr<CellProcess> NativePreparedCell::Take() {
  return std::exchange(cell_, {}).lock();
}

}  // namespace caisson
