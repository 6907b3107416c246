#include "store/sql/database.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace caisson {
namespace {

constexpr int kAttempts = 8;
constexpr std::size_t kMaxQueued = 10'000;

// The result of one attempt, and if a retry makes sense.
struct Attempt {
  Result<void> result;
  bool again = false;
};

Attempt TryOnce(Connection& connection, Access access,
                const std::function<Result<void>(Connection&)>& body) {
  if (Result<void> begun = connection.Begin(access); !begun) {
    return {std::move(begun), connection.failure() == Connection::Failure::kLost};
  }
  if (Result<void> done = body(connection); !done) {
    const bool again = connection.failure() != Connection::Failure::kFinal;
    connection.Rollback();
    return {std::move(done), again};
  }
  Result<void> committed = connection.Commit();
  if (committed) return {{}};
  const Connection::Failure failure = connection.failure();
  connection.Rollback();
  if (failure == Connection::Failure::kLost && access == Access::kWrite) {
    return {Error(ErrorCode::kUnavailable,
                  "the connection to the database was lost during a commit; it is unknown if the "
                  "commit succeeded")};
  }
  return {std::move(committed), failure != Connection::Failure::kFinal};
}

// The messages of a database may name hosts and files, so they go to the log only (StoreHealth).
Error ForCallers(const Error& failure) {
  if (failure.code() == ErrorCode::kNoSpace) {
    return Error(ErrorCode::kNoSpace, "the store is full; its operator must make room on its disk");
  }
  return Error(failure.code(), "the store cannot be used now; retry later");
}

// Borrows an idle connection and returns it at the end.
class Borrowed {
 public:
  explicit Borrowed(Guarded<Database::Connections>& idle) : idle_(idle) {
    auto list = idle_.Lock();
    connection_ = std::move(list->back());
    list->pop_back();
  }
  ~Borrowed() { idle_.Lock()->push_back(std::move(connection_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Connection& operator*() { return *connection_; }

 private:
  Guarded<Database::Connections>& idle_;
  std::unique_ptr<Connection> connection_;
};

// Calls `work` on the pool, then continues on the caller's executor.
asio::awaitable<void> On(asio::thread_pool& threads, std::function<void()> work) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [](auto handler, asio::thread_pool* pool, std::function<void()> task) {
        auto home = asio::make_work_guard(asio::get_associated_executor(handler));
        asio::post(*pool, [handler = std::move(handler), home = std::move(home),
                           task = std::move(task)]() mutable {
          task();
          auto executor = home.get_executor();
          asio::post(executor, std::move(handler));
        });
      },
      asio::use_awaitable, &threads, std::move(work));
}

}  // namespace

Database::Pool::Pool(Connections connections)
    : threads(connections.size()), idle(std::move(connections)) {}

Database::Database(Connections writers, Connections readers) : writers_(std::move(writers)) {
  if (!readers.empty()) readers_ = std::make_unique<Pool>(std::move(readers));
}

Database::~Database() {
  if (readers_) readers_->threads.join();
  writers_.threads.join();
}

Database::Pool& Database::PoolFor(Access access) {
  return access == Access::kRead && readers_ ? *readers_ : writers_;
}

Result<void> Database::Attempts(Pool& pool, Access access, const Body& body) {
  Borrowed connection(pool.idle);
  for (int left = kAttempts - 1;; --left) {
    Attempt attempt = TryOnce(*connection, access, body);
    if (attempt.result || !attempt.again || left == 0) return std::move(attempt.result);
  }
}

Result<void> Database::TransactNow(Access access, const Body& body) {
  return Attempts(PoolFor(access), access, body);
}

Result<void> Database::Noted(Access access, Result<void> result) {
  if (result) {
    if (access == Access::kWrite) health_.OnWritten();
    return result;
  }
  if (!IsStoreFailure(result.error())) return result;
  health_.OnFailure(result.error());
  return ForCallers(result.error());
}

asio::awaitable<Result<void>> Database::Run(Access access, Body body) {
  Pool& pool = PoolFor(access);
  if (pool.queued.fetch_add(1) >= kMaxQueued) {
    pool.queued.fetch_sub(1);
    co_return Error(ErrorCode::kUnavailable, "too many requests wait for the database");
  }
  Result<void> result;
  co_await On(pool.threads, [&] {
    result = Noted(access, Attempts(pool, access, body));
    pool.queued.fetch_sub(1);
  });
  co_return result;
}

}  // namespace caisson
