// A Database runs transactions on its connections, each on its own thread, away from the event
// loops.
//
// Trust     Trusted callers only.
// Threads   Transact from any executor. The body runs on a database thread; the coroutine continues
//           on its own executor.
// Lifetime  The destructor waits for queued transactions.
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
#include "store/sql/sql_connection.h"

namespace caisson {

namespace asio = boost::asio;

class Database {
 public:
  using Connections = std::vector<std::unique_ptr<Connection>>;

  // Without `readers`, the writers read too.
  explicit Database(Connections writers, Connections readers = {});
  ~Database();

  // Runs `body` in a transaction and commits it if `body` succeeds. `body` may run more than once,
  // after a conflict with another transaction or a lost connection, so it must have no effect
  // except through its connection. Fails with kUnavailable if the database cannot be reached, too
  // much is queued, or the connection was lost during the commit, so that the result is unknown.
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

  // Is told of every failure of the store and of every successful write.
  StoreHealth& health() { return health_; }

  // The same on the calling thread; used when opening.
  Result<void> TransactNow(Access access, const std::function<Result<void>(Connection&)>& body);

 private:
  using Body = std::function<Result<void>(Connection&)>;
  struct Pool {
    explicit Pool(Connections connections);
    asio::thread_pool threads;
    Guarded<Connections> idle;  // One per thread, so that a thread always finds one.
    std::atomic<std::size_t> queued = 0;
  };

  asio::awaitable<Result<void>> Run(Access access, Body body);
  Pool& PoolFor(Access access);
  static Result<void> Attempts(Pool& pool, Access access, const Body& body);
  // Reports the result of an operation to health_ and returns what its caller may know of it.
  Result<void> Noted(Access access, Result<void> result);

  StoreHealth health_;
  Pool writers_;
  std::unique_ptr<Pool> readers_;
};

}  // namespace caisson
