// AwaitPooled takes work that may block to a thread of a pool and waits for it without blocking.
//
// Trust     None of its own.
// Threads   Called in a coroutine on a serial executor, which it comes back to. `work` runs on the pool.
// Lifetime  When the wait is cancelled the work goes on by itself and its result is dropped. The pool must be joined
//           before the executors that wait for it go.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace caisson {

// Nothing, if the wait was cancelled. `work` must not throw.
template <typename T>
boost::asio::awaitable<std::optional<T>> AwaitPooled(boost::asio::any_io_executor pool,
                                                     std::function<T()> work) {
  namespace asio = boost::asio;
  struct Waiting {
    explicit Waiting(const asio::any_io_executor& executor)
        : done(executor, asio::steady_timer::time_point::max()) {}
    asio::steady_timer done;  // Cancelled when the result is there.
    std::optional<T> result;
  };
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  auto waiting = std::make_shared<Waiting>(home);
  asio::post(pool, [home, waiting, work = std::move(work)] {
    asio::post(home, [waiting, result = work()]() mutable {
      waiting->result = std::move(result);
      waiting->done.cancel();
    });
  });
  co_await waiting->done.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return std::move(waiting->result);
}

}  // namespace caisson
