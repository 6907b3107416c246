#include "runs/door_caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "caller/child_environment.h"

namespace caisson {
namespace {

using enum CallerVariable;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class DoorCallerTest : public testing::Test {
 protected:
  static std::vector<std::string> Child(const CallerContext& context) {
    return ChildEnvironment::Build(context, {})->entries();
  }

  CallerHost host_{{{EnvironmentName(kChatId), "starter's"}}};
  const Identity ann_ = *Identity::Create({.tenant = "acme", .user = "ann"});
};

TEST_F(DoorCallerTest, ARemoteSessionHasNothingOfTheOneThatStartedUs) {
  const auto child = Child(RemoteCaller(host_, ann_, "rest"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_PLATFORM=rest"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_USER_ID=ann"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_SCOPE_ID=acme"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_CHAT_ID="));
  EXPECT_THAT(child, Not(Contains(HasSubstr("starter's"))));
}

TEST_F(DoorCallerTest, ALocalSessionIsTheOneThatStartedUs) {
  const auto child = Child(LocalCaller(host_, "mcp"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_CHAT_ID=starter's"));
  EXPECT_THAT(child, Contains("CAISSON_SESSION_PLATFORM=mcp"));
  EXPECT_FALSE(host_.engaged());
}

TEST_F(DoorCallerTest, ARequestNamesItselfAndNobodyElse) {
  const CallerContext ann = RemoteCaller(host_, ann_, "mcp");
  const auto named = ForRequest(ann, {.message_id = "7", .session = "notes"});
  EXPECT_EQ(named->Get(kMessageId), "7");
  EXPECT_EQ(named->Get(kId), "notes");
  EXPECT_EQ(ann.Get(kMessageId), "");
}

TEST_F(DoorCallerTest, ANameThatNoEnvironmentHoldsIsLeftOut) {
  const CallerContext ann = RemoteCaller(host_, ann_, "mcp");
  for (const std::string& name : {std::string("a\0b", 3), std::string(1 << 20, 'x')}) {
    const auto context = ForRequest(ann, {.message_id = name});
    EXPECT_EQ(context->Get(kMessageId), "");
    EXPECT_TRUE(ChildEnvironment::Build(*context, {}));
  }
}

TEST_F(DoorCallerTest, ARecordedCallerIsTheSameInAnotherProcess) {
  const auto context = ForRequest(RemoteCaller(host_, ann_, "rest"), {.message_id = "7"});
  CallerHost other({{EnvironmentName(kCron), "1"}, {EnvironmentName(kUserId), "bob"}});
  const CallerContext again = CallerContext::FromRecord(other, context->Record());
  EXPECT_EQ(Child(again), Child(*context));
  EXPECT_EQ(again.Record(), context->Record());
}

TEST_F(DoorCallerTest, ALongerLivedCallerKeepsTheIdentityButNotTheRequest) {
  const auto rest = ForRequest(RemoteCaller(host_, ann_, "rest"), {.message_id = "7"});
  const auto mcp = ForRequest(RemoteCaller(host_, ann_, "mcp"), {.session = "notes"});
  EXPECT_EQ(Child(rest->WithoutRequest()), Child(mcp->WithoutRequest()));
  EXPECT_THAT(Child(rest->WithoutRequest()), Contains("CAISSON_SESSION_USER_ID=ann"));
}

}  // namespace
}  // namespace caisson
