// Runs that are one call of a tool, without code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/durable/replica.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DirectCallTest : public DurableRunsTest {
 protected:
  RunView Call(std::string tool, Dict arguments = {}) {
    auto view = loop_.Await(here_->runs().Start(
        ann_, {.call = DirectCall{.tool = std::move(tool), .arguments = std::move(arguments)}}));
    EXPECT_TRUE(view) << view.error().message();
    seen_.merge(ApprovalIds(*view));
    return *view;
  }
};

TEST_F(DirectCallTest, ACallEndsWithTheAnswerOfItsTool) {
  const RunView view = Call("read");
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.result, Value(std::int64_t{1}));
  ASSERT_EQ(view.outcome.calls.size(), 1u);
  EXPECT_EQ(view.outcome.calls[0].outcome, "returned");
  EXPECT_EQ(view.outcome.boundary.engine, "direct");
  EXPECT_THAT(effects_, ElementsAre("read"));
  EXPECT_THAT(here_->engine().requests(), IsEmpty());  // It has no cell.
  loop_.Until([&] { return loop_.Await(store_->runs().Find(ann_, view.id)).has_value(); });
  EXPECT_EQ(Find(view.id).call->tool, "read");
}

TEST_F(DirectCallTest, AnUnknownToolIsRaised) {
  const RunView view = Call("reed");
  EXPECT_EQ(view.outcome.status, RunStatus::kFailed);
  EXPECT_THAT(view.outcome.error->message, HasSubstr("did you mean \"read\""));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DirectCallTest, ArgumentsThatAreNestedTooDeeplyAreRefused) {
  Value deep = Dict{};
  for (int i = 0; i < 300; ++i) deep = List{{std::move(deep)}};
  const auto refused = loop_.Await(here_->runs().Start(
      ann_, {.call = DirectCall{.tool = "read", .arguments = Dict{{{"x", std::move(deep)}}}}}));
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DirectCallTest, AGatedCallWaitsAndIsMadeOnceAfterTheApproval) {
  RunView view = Call("send");
  EXPECT_EQ(view.state, RunState::kWaiting);
  ASSERT_EQ(view.outcome.approvals.size(), 1u);
  EXPECT_EQ(view.outcome.approvals[0].tool, "send");
  EXPECT_THAT(effects_, IsEmpty());
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.result, Value(std::int64_t{1}));
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DirectCallTest, ADeniedCallIsNotMade) {
  RunView view = Call("send");
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id, ApprovalState::kDenied));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kFailed);
  EXPECT_EQ(view.outcome.error->type, "ApprovalDenied");
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DirectCallTest, AnotherReplicaOfAnotherBuildContinuesACall) {
  RunView view = Call("send");
  const std::string approval = view.outcome.approvals.at(0).id;
  here_.reset();
  here_ = Make();
  here_->engine().Upgrade();
  ASSERT_TRUE(Decide(*here_, approval));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.call->tool, "send");
  EXPECT_THAT(effects_, ElementsAre("send"));
}

}  // namespace
}  // namespace caisson
