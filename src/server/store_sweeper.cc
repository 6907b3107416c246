#include "server/store_sweeper.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace caisson {

StoreSweeper::StoreSweeper(Store& store, const Clock& clock, StoreSweeperOptions options)
    : store_(store), clock_(clock), options_(std::move(options)) {
  asio::co_spawn(context_, SweepUntilStopped(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

StoreSweeper::~StoreSweeper() {
  asio::post(context_, [this] {
    stopped_ = true;
    next_.cancel();
  });
  thread_.join();
}

asio::awaitable<void> StoreSweeper::SweepUntilStopped() {
  while (!stopped_) {
    const auto swept = co_await store_.maintenance().Sweep(options_.retention, clock_.Now());
    if (!swept && options_.log) options_.log(swept.error().message());
    if (stopped_) break;
    next_.expires_after(std::chrono::ceil<std::chrono::milliseconds>(options_.interval));
    co_await next_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace caisson
