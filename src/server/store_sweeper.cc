#include "server/store_sweeper.h"

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

// A tenth of the shortest retention, so that data is removed only a little late.
std::chrono::nanoseconds Interval(const StoreSweeperOptions& options) {
  const Retention& kept = options.retention;
  const std::chrono::nanoseconds shortest =
      std::min({kept.finished_runs, kept.responses, kept.documents, kept.checkpoints});
  return std::min(options.longest_interval,
                  std::max<std::chrono::nanoseconds>(shortest / 10, std::chrono::seconds(1)));
}

}  // namespace

StoreSweeper::StoreSweeper(Store& store, const Clock& clock, StoreSweeperOptions options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      sweeping_(Interval(options_), [this] { return Sweep(); }) {}

asio::awaitable<void> StoreSweeper::Sweep() {
  const auto swept = co_await store_.maintenance().Sweep(options_.retention, clock_.Now());
  if (!swept && options_.log) options_.log(swept.error().message());
}

}  // namespace caisson
