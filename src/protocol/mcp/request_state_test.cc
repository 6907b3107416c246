#include "protocol/mcp/request_state.h"

#include <gtest/gtest.h>

#include "wire/object.h"

namespace caisson::mcp {
namespace {

class RequestStateTest : public testing::Test {
 protected:
  static IsolationKey OwnerOf(std::string user) {
    return IsolationKey(*Identity::Create({.user = std::move(user)}));
  }

  std::string Sealed() const {
    return *states_.Seal(ann_, purpose_,
                         {.run = RunId("run_1"), .approvals = {ApprovalId("apr_1")}});
  }
  bool Opens(const IsolationKey& owner, const StatePurpose& purpose,
             std::string_view carried) const {
    return states_.Open(owner, purpose, carried).has_value();
  }

  const KeyRing keys_ = KeyRing::Generate();
  ManualClock clock_;
  const RequestStates states_{keys_, clock_};
  const IsolationKey ann_ = OwnerOf("ann");
  const StatePurpose purpose_{.tool = "execute_code",
                              .arguments = Object({{"code", "x"}, {"n", 1}})};
};

TEST_F(RequestStateTest, RoundTrips) {
  const auto state = states_.Open(ann_, purpose_, Sealed());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->run, RunId("run_1"));
  EXPECT_EQ(state->approvals, std::vector{ApprovalId("apr_1")});
}

TEST_F(RequestStateTest, TheOrderOfArgumentsIsNoDifference) {
  const StatePurpose same{.tool = "execute_code", .arguments = Object({{"n", 1}, {"code", "x"}})};
  EXPECT_TRUE(Opens(ann_, same, Sealed()));
}

TEST_F(RequestStateTest, IsValidForItsOwnerAndCallOnly) {
  const std::string carried = Sealed();
  EXPECT_FALSE(Opens(OwnerOf("bob"), purpose_, carried));
  EXPECT_FALSE(Opens(ann_, {.tool = "wait_for_run", .arguments = purpose_.arguments}, carried));
  EXPECT_FALSE(Opens(ann_, {.tool = "execute_code", .arguments = Object({{"code", "y"}, {"n", 1}})},
                     carried));
}

TEST_F(RequestStateTest, IsRefusedWhenAnyByteOfItWasChanged) {
  const std::string carried = Sealed();
  for (std::size_t i = 0; i < carried.size(); ++i) {
    std::string changed = carried;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(Opens(ann_, purpose_, changed)) << i;
  }
  EXPECT_FALSE(Opens(ann_, purpose_, ""));
  EXPECT_FALSE(Opens(ann_, purpose_, "no base64 ?"));
  EXPECT_FALSE(Opens(ann_, purpose_, carried.substr(0, carried.size() / 2)));
}

TEST_F(RequestStateTest, Expires) {
  const std::string carried = Sealed();
  clock_.Advance(std::chrono::hours(24 * 8));
  EXPECT_FALSE(Opens(ann_, purpose_, carried));
}

TEST_F(RequestStateTest, AStateOfAnotherHostIsRefused) {
  const KeyRing others = KeyRing::Generate();
  const RequestStates theirs(others, clock_);
  EXPECT_FALSE(theirs.Open(ann_, purpose_, Sealed()));
}

}  // namespace
}  // namespace caisson::mcp
