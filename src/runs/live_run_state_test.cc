#include "runs/live_run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace caisson {
namespace {

using enum LivePhase;
using enum LiveEvent;
using ::testing::HasSubstr;

constexpr LivePhase kPhases[] = {kNoCell, kActive, kSettling, kUnstored, kStoring, kParked};
constexpr LiveEvent kEvents[] = {kCellComes,  kSettle, kStore,    kStored,
                                 kStoreFails, kGoOn,   kUnsettle, kCellGoes};

// The shortest way from the beginning to each phase.
std::map<LivePhase, LiveRunState> Reachable() {
  std::map<LivePhase, LiveRunState> reached;
  std::queue<LiveRunState> next;
  next.emplace();
  while (!next.empty()) {
    const LiveRunState state = next.front();
    next.pop();
    if (!reached.emplace(state.phase(), state).second) continue;
    for (const LiveEvent event : kEvents) {
      if (LiveRunState after = state; after.Apply(event)) next.push(after);
    }
  }
  return reached;
}

// All phases by all events; "." is an error. Written down once more, and independently.
TEST(LiveRunState, TheTableIsThis) {
  const std::map<LivePhase, std::vector<std::string>> expected = {
      {kNoCell, {"active", ".", ".", ".", ".", ".", ".", "."}},
      {kActive, {".", "settling", ".", ".", ".", ".", ".", "no cell"}},
      {kSettling, {".", ".", "storing", "settling", "unstored", ".", "active", "."}},
      {kUnstored, {".", ".", "storing", ".", ".", ".", "active", "."}},
      {kStoring, {".", ".", ".", "parked", "unstored", "settling", ".", "."}},
      {kParked, {".", ".", ".", ".", ".", "active", ".", "no cell"}},
  };
  const auto reached = Reachable();
  for (const LivePhase phase : kPhases) {
    ASSERT_TRUE(reached.contains(phase)) << ToString(phase);
    std::vector<std::string> row;
    for (const LiveEvent event : kEvents) {
      LiveRunState state = reached.at(phase);
      row.emplace_back(state.Apply(event) ? ToString(state.phase()) : ".");
    }
    EXPECT_EQ(row, expected.at(phase)) << ToString(phase);
  }
}

TEST(LiveRunState, AnIllegalStepIsNamedAndChangesNothing) {
  LiveRunState state;
  const auto stored = state.Apply(kStored);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code(), ErrorCode::kInternal);
  EXPECT_THAT(stored.error().message(), HasSubstr("\"no cell\" cannot take the step \"stored\""));
  EXPECT_EQ(state.phase(), kNoCell);
}

TEST(LiveRunState, ACellNeverGoesWhileTheRunIsSettling) {
  for (const auto& [phase, state] : Reachable()) {
    LiveRunState after = state;
    const bool has_cell = phase != kNoCell;
    EXPECT_EQ(static_cast<bool>(after.Apply(kCellGoes)), has_cell && !state.is_settling());
  }
}

TEST(LiveRunState, TheFirstReasonToLeaveStays) {
  LiveRunState state;
  state.Leave(Leaving::kAbandoned);
  state.Leave(Leaving::kAsleep);
  EXPECT_EQ(state.leaving(), Leaving::kAbandoned);
}

}  // namespace
}  // namespace caisson
