#include "server/periodic.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/spawn.h"

namespace caisson {

Periodic::Periodic(std::chrono::nanoseconds interval, std::function<asio::awaitable<void>()> work)
    : interval_(std::chrono::ceil<std::chrono::milliseconds>(interval)), work_(std::move(work)) {
  Spawn(context_.get_executor(), WorkUntilStopped());
  thread_ = std::thread([this] { context_.run(); });
}

Periodic::~Periodic() {
  asio::post(context_, [this] {
    stopped_ = true;
    next_.cancel();
  });
  thread_.join();
}

asio::awaitable<void> Periodic::WorkUntilStopped() {
  while (!stopped_) {
    co_await work_();
    if (stopped_) break;
    next_.expires_after(interval_);
    co_await next_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace caisson
