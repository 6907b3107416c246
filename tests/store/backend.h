// The backends that every suite runs over, and functions to await a store.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/run_here.h"
#include "store/sql/sql_connection.h"
#include "store/store.h"

namespace caisson {

// The database of one test.
class Backend {
 public:
  virtual ~Backend() = default;
  // Each call opens another replica on the same database.
  virtual std::shared_ptr<Store> Open() = 0;
  // The URL for other processes; empty for memory.
  virtual std::string url() const = 0;
  // Direct access to the tables; null if there is none.
  virtual std::unique_ptr<Connection> Direct() = 0;
};

enum class BackendKind { kMemory, kSqlite, kPostgres };
std::unique_ptr<Backend> MakeBackend(BackendKind kind);
std::string ToString(BackendKind kind);

// Runs a coroutine to its end on this thread.
template <typename T>
Result<T> Now(asio::awaitable<Result<T>> work) {
  return RunHere(std::move(work));
}

inline std::string Why(const auto& result) {
  if (result) return "ok";
  return std::string(ToString(result.error().code())) + ": " + result.error().message();
}

inline IsolationKey OwnerNamed(const char* user) {
  return IsolationKey(*Identity::Create({.tenant = "acme", .user = user}));
}

inline std::shared_ptr<const RunEnd> Ended(std::string outcome,
                                           std::vector<std::string> files = {}) {
  return std::make_shared<const RunEnd>(
      RunEnd{.outcome = std::move(outcome), .files = std::move(files)});
}

class StoreTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  static constexpr SystemTime kNow{std::chrono::seconds(1'700'000'000)};
  static SystemTime After(std::chrono::seconds seconds) { return kNow + seconds; }

  LeaseTerm Term(const char* holder, SystemTime now = kNow) const {
    return {.holder = holder, .now = now, .until = now + std::chrono::seconds(30)};
  }
  // A run of Ann's, held by "replica".
  Lease StartRun(const char* id) {
    auto lease = Now(store_->runs().Create(
        ann_, {.id = RunId(id), .code_digest = "code", .request = "request"}, Term("replica")));
    EXPECT_TRUE(lease) << Why(lease);
    return *lease;
  }

  const std::unique_ptr<Backend> backend_ = MakeBackend(GetParam());
  const std::shared_ptr<Store> store_ = backend_->Open();
  const IsolationKey ann_ = OwnerNamed("ann");
  const IsolationKey bob_ = OwnerNamed("bob");
};

#define INSTANTIATE_OVER_BACKENDS(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(                                                                  \
      Over, suite,                                                                           \
      ::testing::Values(BackendKind::kMemory, BackendKind::kSqlite, BackendKind::kPostgres), \
      [](const auto& info) { return ToString(info.param); })

}  // namespace caisson
