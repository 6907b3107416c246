#include "engine/wasm/wasm_cell.h"

#include <utility>

#include "engine/host/on_lane.h"

namespace caisson {

asio::awaitable<Result<void>> WasmCell::Restore(SavedCell saved, Limits limits) {
  return OnLane<void>(
      lane_, protocol(),
      [&lane = lane_, saved = std::move(saved), limits](std::shared_ptr<CellProtocol> protocol,
                                                        Done<void> done) mutable {
        const OwnerId owner = protocol->owner();
        lane.WithWorkerOf(owner, [&lane, protocol = std::move(protocol), saved = std::move(saved),
                                  limits, done = std::move(done)](Result<CellLink*> link) mutable {
          if (!link) return FailLater(lane, std::move(done), std::move(link).error());
          const std::uint64_t id = lane.state().next_cell.fetch_add(1, std::memory_order_relaxed);
          auto good = protocol->Restore(**link, id, saved, limits, std::move(done));
          if (!good) FailLater(lane, std::move(done), std::move(good).error());
        });
      });
}

}  // namespace caisson
