#include "engine/native/native_cell.h"

#include <utility>

#include "engine/host/on_lane.h"

namespace caisson {

asio::awaitable<Result<void>> NativeCell::Restore(std::uint64_t fork_server, SavedCell saved,
                                                  Limits limits) {
  return OnLane<void>(
      lane_, protocol(),
      [&lane = lane_, fork_server, saved = std::move(saved), limits](
          std::shared_ptr<CellProtocol> protocol, Done<void> done) mutable {
        protocol->BeginStarting();
        const CellNeeds needs{.processes = limits.processes,
                              .total_file_bytes = limits.total_file_bytes,
                              .files = limits.files,
                              .modules = {},
                              .host_files = protocol->host_files()};
        lane.WithFreshCellOf(
            fork_server, needs,
            [&lane, protocol = std::move(protocol), saved = std::move(saved), limits,
             done = std::move(done)](Result<CellLink*> link) mutable {
              if (!protocol->EndStarting()) {
                if (protocol->abandoned()) return;  // The caller is gone.
                return FailLater(lane, std::move(done), Error(ErrorCode::kCancelled, "cancelled"));
              }
              if (!link) return FailLater(lane, std::move(done), std::move(link).error());
              const std::uint64_t id =
                  lane.state().next_cell.fetch_add(1, std::memory_order_relaxed);
              auto good = protocol->Restore(**link, id, saved, limits, std::move(done));
              // NOLINTNEXTLINE(bugprone-use-after-move): it is taken only if all is well.
              if (!good) FailLater(lane, std::move(done), std::move(good).error());
            });
      });
}

}  // namespace caisson
