#include "engine/wasm/placement.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace caisson {
namespace {

using std::chrono::milliseconds;

std::vector<int> CoresOfThisThread() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &cpus)) cores.push_back(core);
  }
  return cores;
}

void ManyTurns(Placement& placement) {
  for (int i = 0; i < 64; ++i) placement.OnTurn();
}

// Placement moves the calling thread, so each test has its own.
template <typename Body>
void OnItsOwnThread(Body body) {
  std::thread(body).join();
}

class PlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cores_.size() < 2) GTEST_SKIP() << "needs two cores";
  }
  const std::vector<int> cores_ = CoresOfThisThread();
  std::atomic<std::size_t> busy_{0};
};

TEST_F(PlacementTest, CloseTurnsMoveItAwayAndCalmBringsItBack) {
  OnItsOwnThread([this] {
    Placement placement(cores_[0], cores_, busy_);
    ManyTurns(placement);
    EXPECT_TRUE(placement.apart());
    EXPECT_EQ(busy_, 1u);
    const auto now = CoresOfThisThread();
    EXPECT_EQ(std::ranges::find(now, cores_[0]), now.end());
    EXPECT_EQ(now.size(), cores_.size() - 1);
    placement.OnTick(milliseconds(100));  // Many turns since the last tick, but not enough.
    EXPECT_FALSE(placement.apart());
    EXPECT_EQ(busy_, 0u);
    EXPECT_EQ(CoresOfThisThread(), std::vector{cores_[0]});
  });
}

TEST_F(PlacementTest, ItStaysWhenOtherLanesNeedTheCores) {
  OnItsOwnThread([this] {
    busy_ = cores_.size();
    Placement placement(cores_[0], cores_, busy_);
    ManyTurns(placement);
    EXPECT_FALSE(placement.apart());
    busy_ = 1;  // The others have become calm; this one counts.
    ManyTurns(placement);
    EXPECT_TRUE(placement.apart());
  });
}

TEST_F(PlacementTest, AnUnpinnedLaneIsNeverMoved) {
  OnItsOwnThread([this] {
    Placement placement(std::nullopt, {}, busy_);
    ManyTurns(placement);
    EXPECT_FALSE(placement.apart());
    EXPECT_EQ(CoresOfThisThread(), cores_);
  });
}

TEST_F(PlacementTest, ItCountsItselfOutWhenItGoes) {
  OnItsOwnThread([this] {
    {
      Placement placement(cores_[0], cores_, busy_);
      ManyTurns(placement);
      EXPECT_EQ(busy_, 1u);
    }
    EXPECT_EQ(busy_, 0u);
  });
}

}  // namespace
}  // namespace caisson
