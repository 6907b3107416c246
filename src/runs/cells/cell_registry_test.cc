#include "runs/cells/cell_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "runs/cells/loop_for_test.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const OwnerId kAnn("ann");
const OwnerId kBob("bob");

CellKey Key(const OwnerId& owner, std::uint64_t processes = 2) {
  return {.owner = owner, .processes = processes};
}
CellKey Showing(std::string host, MountMode mode = MountMode::kReadOnly) {
  return {.owner = kAnn,
          .mounts = {{.host = std::move(host), .point = {.guest_path = "/data", .mode = mode}}}};
}

class CellRegistryTest : public ::testing::Test {
 protected:
  ~CellRegistryTest() override {
    if (registry_) loop_.Await(registry_->Close());
    EXPECT_EQ(engine_.waiting_cells(), 0);
  }

  CellRegistry& Registry(CellRegistryOptions options = {}) {
    options.now = [this] { return now_; };
    registry_ = std::make_unique<CellRegistry>(engine_, options);
    return *registry_;
  }
  // A run of this configuration has ended, and whatever is made for the next has been made.
  void Foresee(const CellKey& key) {
    registry_->Foresee(key, {}, loop_.context().get_executor());
    loop_.Poll();
    now_ += 1s;
  }
  // So many cells are made for it.
  void Prepare(const CellKey& key, int cells = 1) {
    for (int i = 0; i <= cells; ++i) Foresee(key);
  }
  // Whether there is a cell for it, which is gone afterwards.
  bool Take(const CellKey& key) { return registry_->Take(key) != nullptr; }

  TestLoop loop_;
  FakeEngine engine_{loop_.context().get_executor()};
  std::chrono::steady_clock::time_point now_{1000s};
  std::unique_ptr<CellRegistry> registry_;
};

TEST_F(CellRegistryTest, ACellIsMadeForAConfigurationThatComesAgain) {
  Registry();
  EXPECT_TRUE(registry_->empty());
  Foresee(Key(kAnn));
  EXPECT_EQ(engine_.preparations().size(), 0u);  // Once is not again.
  Foresee(Key(kAnn));
  EXPECT_EQ(engine_.waiting_cells(), 1);
  EXPECT_TRUE(Take(Key(kAnn)));
  EXPECT_EQ(engine_.waiting_cells(), 0);
  EXPECT_FALSE(Take(Key(kAnn)));  // It is given to one run.
  Foresee(Key(kAnn));
  EXPECT_TRUE(Take(Key(kAnn)));
}

TEST_F(CellRegistryTest, NobodyGetsAnothersCell) {
  Registry();
  Prepare(Key(kAnn));
  EXPECT_FALSE(Take(Key(kBob)));
  EXPECT_FALSE(Take(Key(OwnerId(""))));
  EXPECT_TRUE(Take(Key(kAnn)));
}

TEST_F(CellRegistryTest, EveryPartOfTheConfigurationCounts) {
  Registry({.most = 100, .most_per_owner = 100});
  const std::vector<CellKey> keys = {
      Key(kAnn, 2),
      Key(kAnn, 3),
      {.owner = kAnn, .processes = 2, .total_file_bytes = 7},
      {.owner = kAnn, .processes = 2, .files = 7},
      Showing("/a"),
      Showing("/b"),
      Showing("/a", MountMode::kOverlay),
      {.owner = kAnn, .mounts = {{.host = "/a", .point = {.guest_path = "/other"}}}},
      {.owner = kAnn,
       .mounts = {{.host = "/a", .point = {.guest_path = "/data", .write_bytes_limit = 1}}}}};
  for (const CellKey& key : keys) {
    Prepare(key);
    EXPECT_EQ(engine_.waiting_cells(), 1);
    for (const CellKey& other : keys) {
      if (!(other == key)) EXPECT_FALSE(Take(other));
    }
    EXPECT_TRUE(Take(key));
  }
}

TEST_F(CellRegistryTest, OneThatNobodyTakesGoes) {
  Registry({.idle = 60s});
  Prepare(Key(kAnn));
  EXPECT_EQ(engine_.preparations().at(0).keep, 60s);  // The engine ends it by itself then.
  now_ += 60s;
  EXPECT_FALSE(Take(Key(kAnn)));
  EXPECT_EQ(engine_.waiting_cells(), 0);
  EXPECT_TRUE(registry_->empty());
}

TEST_F(CellRegistryTest, ItsConfigurationIsForgottenWithIt) {
  Registry({.idle = 60s});
  Foresee(Key(kAnn));
  now_ += 60s;
  Foresee(Key(kAnn));  // As if for the first time.
  EXPECT_EQ(engine_.preparations().size(), 0u);
}

TEST_F(CellRegistryTest, RunsSideBySideHaveOneEachUpToTheirOwnersShare) {
  Registry({.most = 100, .most_per_owner = 3});
  Prepare(Key(kAnn), 5);
  EXPECT_EQ(engine_.waiting_cells(), 3);
  EXPECT_EQ(engine_.preparations().size(), 3u);  // They do not push out each other.
}

TEST_F(CellRegistryTest, AnOwnersLeastUsedConfigurationMakesRoomForItsOthers) {
  Registry({.most = 100, .most_per_owner = 2});
  Prepare(Key(kBob));
  Prepare(Key(kAnn, 2));
  Prepare(Key(kAnn, 3));
  Prepare(Key(kAnn, 4));
  EXPECT_EQ(engine_.waiting_cells(), 3);
  EXPECT_FALSE(Take(Key(kAnn, 2)));
  EXPECT_TRUE(Take(Key(kAnn, 3)));
  EXPECT_TRUE(Take(Key(kAnn, 4)));
  EXPECT_TRUE(Take(Key(kBob)));
}

TEST_F(CellRegistryTest, AllTogetherHaveABoundToo) {
  Registry({.most = 2, .most_per_owner = 2});
  Prepare(Key(OwnerId("1")));
  Prepare(Key(OwnerId("2")));
  EXPECT_TRUE(Take(Key(OwnerId("1"))));
  Foresee(Key(OwnerId("1")));  // Used later than that of 2.
  Prepare(Key(OwnerId("3")));
  EXPECT_EQ(engine_.waiting_cells(), 2);
  EXPECT_FALSE(Take(Key(OwnerId("2"))));
  EXPECT_TRUE(Take(Key(OwnerId("1"))));
  EXPECT_TRUE(Take(Key(OwnerId("3"))));
}

TEST_F(CellRegistryTest, OwnersOfOneRunAreNotRememberedWithoutBound) {
  Registry();
  Foresee(Key(kAnn));
  now_ -= 1s;
  for (int i = 0; i < 100; ++i) {
    registry_->Foresee(Key(OwnerId(std::to_string(i))), {}, loop_.context().get_executor());
  }
  Foresee(Key(kAnn));
  EXPECT_EQ(engine_.preparations().size(), 0u);
}

TEST_F(CellRegistryTest, NoneAreMadeWhereNoneMayBe) {
  Registry({.most = 0});
  Prepare(Key(kAnn), 3);
  EXPECT_EQ(engine_.preparations().size(), 0u);
  EXPECT_TRUE(registry_->empty());
}

TEST_F(CellRegistryTest, NoneAreMadeWhileRunsWaitForTheEngine) {
  Registry();
  engine_.PretendWaiting(1);
  Prepare(Key(kAnn), 3);
  EXPECT_EQ(engine_.preparations().size(), 0u);
  engine_.PretendWaiting(0);
  Prepare(Key(kAnn));
  EXPECT_TRUE(Take(Key(kAnn)));
}

TEST_F(CellRegistryTest, OneThatCannotBeMadeIsTriedAgainAfterTheNextRun) {
  Registry();
  engine_.FailNextPrepare(Error(ErrorCode::kUnavailable, "no"));
  Prepare(Key(kAnn));
  EXPECT_FALSE(Take(Key(kAnn)));
  Foresee(Key(kAnn));
  EXPECT_TRUE(Take(Key(kAnn)));
}

TEST_F(CellRegistryTest, CloseEndsWhatWaitsAndIsSafeTwice) {
  Registry();
  Prepare(Key(kAnn), 2);
  Prepare(Key(kBob));
  loop_.Start(registry_->Close());
  loop_.Await(registry_->Close());
  EXPECT_EQ(engine_.waiting_cells(), 0);
  EXPECT_FALSE(Take(Key(kAnn)));
  Prepare(Key(kAnn));
  EXPECT_EQ(engine_.waiting_cells(), 0);
}

TEST_F(CellRegistryTest, CloseWaitsForThoseThatAreBeingMade) {
  Registry();
  asio::steady_timer go(loop_.context());
  Foresee(Key(kAnn));
  engine_.HoldNextPrepare(go);
  Foresee(Key(kAnn));
  bool closed = false;
  const auto close = [&]() -> asio::awaitable<void> {
    co_await registry_->Close();
    closed = true;
  };
  loop_.Start(close());
  loop_.Poll();
  EXPECT_FALSE(closed);
  go.cancel();
  loop_.Poll();
  EXPECT_TRUE(closed);
  EXPECT_EQ(engine_.waiting_cells(), 0);
}

// Of a run that has taken one and not begun yet.
TEST_F(CellRegistryTest, CloseWaitsForThoseThatWereTaken) {
  Registry();
  Prepare(Key(kAnn));
  auto taken = registry_->Take(Key(kAnn));
  bool closed = false;
  const auto close = [&]() -> asio::awaitable<void> {
    co_await registry_->Close();
    closed = true;
  };
  loop_.Start(close());
  loop_.Poll();
  EXPECT_FALSE(closed);
  taken = nullptr;
  loop_.Poll();
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace caisson
