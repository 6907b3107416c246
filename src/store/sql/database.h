// A Database runs transactions on its connections, each on a thread of its own, away from the event loops.
//
// Trust     Ours.
// Threads   Transact from any executor; the body runs on a database thread, the coroutine goes on where it was.
// Lifetime  The destructor waits for what is queued.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "store/health.h"
#include "store/sql/connection.h"

namespace caisson {

namespace asio = boost::asio;

class Database {
 public:
  using Connections = std::vector<std::unique_ptr<Connection>>;

  // Without `readers`, the writers read too.
  explicit Database(Connections writers, Connections readers = {});
  ~Database();

  // Runs `body` in a transaction that is committed if it succeeds. It may run more than once, when it meets another
  // transaction or a connection breaks, and so has no effect but through its connection. kUnavailable: the database
  // cannot be reached, too much is queued, or it went away while committing and nobody knows.
  template <typename T>
  asio::awaitable<Result<T>> Transact(Access access, std::function<Result<T>(Connection&)> body) {
    std::optional<T> value;
    Result<void> done = co_await Run(access, [&](Connection& connection) -> Result<void> {
      TRY_ASSIGN(value, body(connection));
      return {};
    });
    if (!done) co_return std::move(done).error();
    co_return *std::move(value);
  }
  asio::awaitable<Result<void>> Transact(Access access,
                                         std::function<Result<void>(Connection&)> body) {
    return Run(access, std::move(body));
  }

  // Hears of every failure of the store and of every write that succeeded.
  StoreHealth& health() { return health_; }

  // The same on this thread; for opening.
  Result<void> TransactNow(Access access, const std::function<Result<void>(Connection&)>& body);

 private:
  using Body = std::function<Result<void>(Connection&)>;
  struct Pool {
    explicit Pool(Connections connections);
    asio::thread_pool threads;
    Guarded<Connections> idle;  // As many as there are threads, so whoever runs finds one.
    std::atomic<std::size_t> queued = 0;
  };

  asio::awaitable<Result<void>> Run(Access access, Body body);
  Pool& PoolFor(Access access);
  static Result<void> Attempts(Pool& pool, Access access, const Body& body);
  // Tells health_ how an operation ended, and gives what its caller may know of it.
  Result<void> Noted(Access access, Result<void> result);

  StoreHealth health_;
  Pool writers_;
  std::unique_ptr<Pool> readers_;
};

}  // namespace caisson
