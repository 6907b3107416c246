// AC-xx are the numbered cases of the specification. A comment names the case that a test covers.
#include "context/session_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "context/child_environment.h"

namespace caisson {
namespace {

using enum SessionVariable;

constexpr SessionVariable kRouting[] = {kKey, kChatId, kThreadId};

std::optional<std::string> InChild(const SessionContext& context, SessionVariable variable) {
  const auto environment = ChildEnvironment::Build(context, {});
  EXPECT_TRUE(environment);
  const std::string start = EnvironmentName(variable) + "=";
  for (const std::string& entry : environment->entries()) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return std::nullopt;
}

SessionBinding BindingOf(const std::string& who) {
  return {.values = {{kKey, "key-" + who}, {kChatId, "chat-" + who}, {kThreadId, "thread-" + who}}};
}

class SessionContextTest : public testing::Test {
 protected:
  SessionHost host_{{{EnvironmentName(kChatId), "start"}, {"PATH", "/bin"}}};
};

// AC-01: a task that inherits a context unintentionally acts as somebody else.
TEST_F(SessionContextTest, AForkShowsItsParent) {
  SessionContext parent(host_);
  parent.Bind(BindingOf("A"));
  const SessionContext child = parent.Fork();
  for (const SessionVariable variable : kRouting) {
    EXPECT_EQ(InChild(child, variable), parent.Get(variable));
  }
}

// Prevents AC-01 by accident: nothing is inherited without Fork.
TEST_F(SessionContextTest, AHandlerStartsEmptyBesideABoundSession) {
  SessionContext other(host_);
  other.Bind(BindingOf("A"));
  const SessionContext fresh(host_);
  for (const SessionVariable variable : AllSessionVariables()) {
    EXPECT_EQ(fresh.slot(variable), std::nullopt);
    EXPECT_EQ(InChild(fresh, variable), std::nullopt);
  }
  static_assert(!std::is_copy_constructible_v<SessionContext>);
  static_assert(!std::is_copy_assignable_v<SessionContext>);
}

// AC-02
TEST_F(SessionContextTest, ResetDropsInheritedValuesAndALaterBindingHolds) {
  SessionContext parent(host_);
  parent.Bind(BindingOf("A"));
  SessionContext child = parent.Fork();
  child.Reset();
  for (const SessionVariable variable : kRouting) EXPECT_EQ(InChild(child, variable), std::nullopt);
  child.Bind(BindingOf("B"));
  EXPECT_EQ(InChild(child, kKey), "key-B");
  EXPECT_EQ(InChild(child, kChatId), "chat-B");
  EXPECT_EQ(InChild(child, kThreadId), "thread-B");
  EXPECT_EQ(InChild(parent, kKey), "key-A");
}

// AC-03
TEST_F(SessionContextTest, ResetLeavesUnsetNotEmpty) {
  SessionContext context(host_);
  for (const SessionVariable variable : AllSessionVariables()) context.Set(variable, "x");
  context.Reset();
  for (const SessionVariable variable : AllSessionVariables()) {
    EXPECT_EQ(context.slot(variable), std::nullopt) << EnvironmentName(variable);
  }
  context.Reset();
  EXPECT_EQ(context.slot(kKey), std::nullopt);
}

// AC-04, the three cases of asynchronous delivery.
TEST_F(SessionContextTest, AForkInheritsTheDeliveryCapability) {
  SessionContext parent(host_);
  parent.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  EXPECT_FALSE(parent.Fork().supports_async_delivery());
}

TEST_F(SessionContextTest, ResetGivesTheDeliveryCapabilityBack) {
  SessionContext parent(host_);
  parent.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  SessionContext child = parent.Fork();
  child.Reset();
  EXPECT_TRUE(child.supports_async_delivery());
}

TEST_F(SessionContextTest, ResetLeavesTheDeliveryCapabilityUnset) {
  SessionContext context(host_);
  context.DeclareStateless();
  context.Reset();
  EXPECT_EQ(context.async_delivery(), std::nullopt);
}

TEST_F(SessionContextTest, ClearLeavesTheDeliveryCapabilityUnset) {
  SessionContext context(host_);
  context.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  context.Clear();
  EXPECT_EQ(context.async_delivery(), std::nullopt);
}

// AC-05
TEST_F(SessionContextTest, AClearedSessionReadsEmptyAlthoughTheStartHadAValue) {
  SessionContext context(host_);
  context.Bind(BindingOf("A"));
  EXPECT_EQ(context.Get(kChatId), "chat-A");
  context.Clear();
  EXPECT_EQ(context.Get(kChatId, "fallback"), "");
  EXPECT_EQ(InChild(context, kChatId), "");
}

// AC-06
TEST_F(SessionContextTest, UnsetReadsTheStartEnvironmentThenTheFallback) {
  const SessionContext context(host_);
  EXPECT_EQ(context.Get(kChatId, "fallback"), "start");
  EXPECT_EQ(context.Get(kUserId, "fallback"), "fallback");
}

// After several sessions have been bound, the start environment describes none of them.
TEST_F(SessionContextTest, AfterEngagementReadsIgnoreTheStartEnvironment) {
  SessionContext other(host_);
  other.Bind(BindingOf("A"));
  const SessionContext context(host_);
  EXPECT_EQ(context.Get(kChatId, "fallback"), "fallback");
}

// AC-07
TEST_F(SessionContextTest, OverlappingTasksReadBackTheirOwn) {
  std::vector<std::jthread> tasks;
  for (int i = 0; i < 8; ++i) {
    tasks.emplace_back([this, i] {
      const std::string who = std::to_string(i);
      for (int round = 0; round < 500; ++round) {
        SessionContext context(host_);
        context.Bind(BindingOf(who));
        EXPECT_EQ(context.Get(kKey), "key-" + who);
        EXPECT_EQ(InChild(context, kChatId), "chat-" + who);
      }
    });
  }
}

// AC-08
TEST_F(SessionContextTest, VariablesThatABindingOmitsAreEmpty) {
  SessionContext context(host_);
  context.Set(kJobId, "job");
  context.Bind({.values = {{kPlatform, "slack"}}});
  for (const SessionVariable variable : AllSessionVariables()) {
    if (variable == kPlatform || !IsBoundBySession(variable)) continue;
    EXPECT_EQ(context.slot(variable), "") << EnvironmentName(variable);
  }
  EXPECT_EQ(context.slot(kCron), std::nullopt);
  EXPECT_EQ(context.slot(kJobId), "job");
}

// AC-09
TEST_F(SessionContextTest, NothingWritesTheProcessEnvironment) {
  const EnvironmentMap before = CaptureEnvironment();
  SessionContext context(host_);
  context.Bind(BindingOf("A"));
  context.Set(kId, "7");
  context.Clear();
  EXPECT_EQ(CaptureEnvironment(), before);
}

// AC-10
TEST_F(SessionContextTest, OnlyBindingEngages) {
  SessionContext context(host_);
  context.DeclareStateless();
  context.Set(kId, "7");
  context.Clear();
  context.Reset();
  EXPECT_FALSE(host_.engaged());
  context.Bind({});
  EXPECT_TRUE(host_.engaged());
  context.Reset();
  EXPECT_TRUE(host_.engaged());
}

// AC-11
TEST_F(SessionContextTest, TwoForksStayApart) {
  SessionContext parent(host_);
  SessionContext a = parent.Fork();
  SessionContext b = parent.Fork();
  a.Bind(BindingOf("A"));
  b.Bind(BindingOf("B"));
  EXPECT_EQ(a.Get(kKey), "key-A");
  EXPECT_EQ(b.Get(kKey), "key-B");
  EXPECT_EQ(parent.slot(kKey), std::nullopt);
}

// AC-12
TEST_F(SessionContextTest, ACronMarkStaysInItsJob) {
  SessionHost host({{EnvironmentName(kCron), "leaked"}});
  SessionContext scheduler(host);
  const SessionContext sibling = scheduler.Fork();
  {
    const SessionScope job(scheduler);
    scheduler.Set(kCron, "1");
    EXPECT_EQ(scheduler.Get(kCron), "1");
    EXPECT_EQ(sibling.slot(kCron), std::nullopt);
  }
  EXPECT_EQ(scheduler.slot(kCron), std::nullopt);
  // There is still one user, so the start environment is theirs.
  EXPECT_EQ(scheduler.Get(kCron), "leaked");
}

// AC-13
TEST_F(SessionContextTest, AnExplicitlyEmptyCronMarkMasksALeakedOne) {
  SessionHost host({{EnvironmentName(kCron), "1"}});
  SessionContext context(host);
  context.Set(kCron, "");
  EXPECT_EQ(context.Get(kCron), "");
  EXPECT_EQ(InChild(context, kCron), "");
}

// AC-27 to AC-31: children under their own names, nested, and the parent unchanged.
TEST_F(SessionContextTest, ScopesNestAndRestoreExactly) {
  SessionContext context(host_);
  context.Bind({.values = {{kId, "parent"}}});
  {
    const SessionScope outer(context);
    context.Set(kId, "outer");
    {
      const SessionScope inner(context);
      context.Bind({.values = {{kId, "inner"}}, .async_delivery = AsyncDelivery::kUnsupported});
      EXPECT_EQ(InChild(context, kId), "inner");
    }
    EXPECT_EQ(context.Get(kId), "outer");
    EXPECT_TRUE(context.supports_async_delivery());
    context.Reset();
  }
  EXPECT_EQ(context.Get(kId), "parent");
}

TEST_F(SessionContextTest, AScopeRestoresUnsetAsUnset) {
  SessionContext context(host_);
  {
    const SessionScope scope(context);
    context.Bind(BindingOf("A"));
  }
  EXPECT_EQ(context.slot(kKey), std::nullopt);
}

// AC-33
TEST_F(SessionContextTest, AScopeRestoresWhenAnExceptionLeavesIt) {
  SessionContext context(host_);
  context.Bind(BindingOf("A"));
  try {
    const SessionScope scope(context);
    context.Bind(BindingOf("B"));
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(context.Get(kKey), "key-A");
  }
}

TEST_F(SessionContextTest, EveryVariableHasItsOwnNameUnderThePrefix) {
  std::vector<std::string> names;
  for (const SessionVariable variable : AllSessionVariables()) {
    EXPECT_TRUE(EnvironmentName(variable).starts_with(kSessionPrefix));
    EXPECT_GT(EnvironmentName(variable).size(), kSessionPrefix.size());
    EXPECT_THAT(names, testing::Not(testing::Contains(EnvironmentName(variable))));
    names.push_back(EnvironmentName(variable));
  }
}

}  // namespace
}  // namespace caisson
