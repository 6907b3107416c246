#include "engine/wasm/wasm_cell.h"

#include <utility>

#include "engine/host/on_lane.h"

namespace caisson {

asio::awaitable<Result<void>> WasmCell::Restore(SavedCell saved, Limits limits) {
  return OnLane<void>(
      lane_, session(),
      [&lane = lane_, saved = std::move(saved), limits](std::shared_ptr<CellProtocol> session,
                                                        Done<void> done) mutable {
        const OwnerId owner = session->owner();
        lane.WithWorkerOf(owner, [&lane, session = std::move(session), saved = std::move(saved),
                                  limits, done = std::move(done)](Result<CellLink*> link) mutable {
          if (!link) return FailLater(lane, std::move(done), std::move(link).error());
          const std::uint64_t id = lane.state().next_cell.fetch_add(1, std::memory_order_relaxed);
          auto good = session->Restore(**link, id, saved, limits, std::move(done));
          if (!good) FailLater(lane, std::move(done), std::move(good).error());
        });
      });
}

}  // namespace caisson
