#include "server/store_sweeper.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "base/run_here.h"
#include "server/open_store.h"

namespace caisson {
namespace {

class StoreSweeperTest : public testing::Test {
 protected:
  template <typename T>
  static T Now(asio::awaitable<Result<T>> work) {
    auto result = RunHere(std::move(work));
    if (!result) throw std::runtime_error(result.error().message());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
  }
  Lease StartRun(const char* id, SystemTime at) {
    return Now(store_->runs().Create(owner_, {.id = RunId(id)},
                                     {.holder = "host", .now = at, .until = at}));
  }
  void Finish(const char* id, SystemTime at) {
    Now(store_->runs().Finish(owner_, RunId(id), StartRun(id, at), std::make_shared<const RunEnd>(),
                              at));
  }
  std::string Left() {
    std::string ids;
    for (const ListedRun& run : Now(store_->runs().List(owner_, {}, {})).items) {
      ids += run.id.str() + " ";
    }
    return ids;
  }
  void Await(const std::string& left) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Left() != left && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(Left(), left);
  }

  const std::unique_ptr<Store> store_ = [] {
    Config config;
    config.store.url = "memory:";
    return *OpenStore(config);
  }();
  const IsolationKey owner_{*Identity::Create({.user = "ann"})};
  ManualClock clock_;
  const SystemTime start_ = clock_.Now();
};

TEST_F(StoreSweeperTest, WhatIsOldGoesAndWhatWaitsStays) {
  Finish("done", start_);
  const Lease lease = StartRun("waits", start_);
  Now(store_->runs().Wait(owner_, RunId("waits"), lease, SavedRun{0, "b", "x"}, start_));
  StartRun("under way", start_);
  clock_.Advance(std::chrono::hours(25));
  Finish("fresh", clock_.Now());
  const StoreSweeper sweeper(*store_, clock_,
                             {.retention = {.finished_runs = std::chrono::hours(24)}});
  Await("waits under way fresh ");
}

TEST_F(StoreSweeperTest, ItComesAgainAndStopsAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  Finish("first", start_);
  clock_.Advance(std::chrono::hours(25));
  Finish("second", clock_.Now());
  {
    const StoreSweeper sweeper(*store_, clock_,
                               {.retention = {.finished_runs = std::chrono::hours(24)},
                                .longest_interval = std::chrono::milliseconds(1)});
    Await("second ");
    clock_.Advance(std::chrono::hours(25));
    Await("");
  }
  {
    const StoreSweeper sweeper(*store_, clock_, {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(1));
}

}  // namespace
}  // namespace caisson
