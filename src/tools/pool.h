// AwaitPooled runs work that may block on a thread of a pool and waits for it without blocking.
//
// Trust     Has none of its own.
// Threads   Called in a coroutine on a serial executor, to which it returns. `work` runs on the
//           pool.
// Lifetime  If the wait is cancelled, the work continues and its result is dropped. The pool must
//           be joined before the waiting executors are destroyed.
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

// Returns nullopt if the wait was cancelled. `work` must not throw.
template <typename T>
boost::asio::awaitable<std::optional<T>> AwaitPooled(boost::asio::any_io_executor pool,
                                                     std::function<T()> work) {
  namespace asio = boost::asio;
  struct Waiting {
    explicit Waiting(const asio::any_io_executor& executor)
        : done(executor, asio::steady_timer::time_point::max()) {}
    asio::steady_timer done;  // Cancelled when the result is available.
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
