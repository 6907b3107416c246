#include "server/store_sweeper.h"

#include <utility>

namespace caisson {

StoreSweeper::StoreSweeper(Store& store, const Clock& clock, StoreSweeperOptions options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      sweeping_(options_.interval, [this] { return Sweep(); }) {}

asio::awaitable<void> StoreSweeper::Sweep() {
  const auto swept = co_await store_.maintenance().Sweep(options_.retention, clock_.Now());
  if (!swept && options_.log) options_.log(swept.error().message());
}

}  // namespace caisson
