// AC-xx are the numbered cases of the specification. A comment names the case that a test covers.
#include "caller/caller_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "caller/child_environment.h"

namespace caisson {
namespace {

using enum CallerVariable;

constexpr CallerVariable kRouting[] = {kKey, kChatId, kThreadId};

std::optional<std::string> InChild(const CallerContext& context, CallerVariable variable) {
  const auto environment = ChildEnvironment::Build(context, {});
  EXPECT_TRUE(environment);
  const std::string start = EnvironmentName(variable) + "=";
  for (const std::string& entry : environment->entries()) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return std::nullopt;
}

CallerBinding BindingOf(const std::string& who) {
  return {.values = {{kKey, "key-" + who}, {kChatId, "chat-" + who}, {kThreadId, "thread-" + who}}};
}

class CallerContextTest : public testing::Test {
 protected:
  CallerHost host_{{{EnvironmentName(kChatId), "start"}, {"PATH", "/bin"}}};
};

// AC-01: a task that inherits a context unintentionally acts as somebody else.
TEST_F(CallerContextTest, AForkShowsItsParent) {
  CallerContext parent(host_);
  parent.Bind(BindingOf("A"));
  const CallerContext child = parent.Fork();
  for (const CallerVariable variable : kRouting) {
    EXPECT_EQ(InChild(child, variable), parent.Get(variable));
  }
}

// Prevents AC-01 by accident: nothing is inherited without Fork.
TEST_F(CallerContextTest, AHandlerStartsEmptyBesideABoundSession) {
  CallerContext other(host_);
  other.Bind(BindingOf("A"));
  const CallerContext fresh(host_);
  for (const CallerVariable variable : AllCallerVariables()) {
    EXPECT_EQ(fresh.slot(variable), std::nullopt);
    EXPECT_EQ(InChild(fresh, variable), std::nullopt);
  }
  static_assert(!std::is_copy_constructible_v<CallerContext>);
  static_assert(!std::is_copy_assignable_v<CallerContext>);
}

// AC-02
TEST_F(CallerContextTest, ResetDropsInheritedValuesAndALaterBindingHolds) {
  CallerContext parent(host_);
  parent.Bind(BindingOf("A"));
  CallerContext child = parent.Fork();
  child.Reset();
  for (const CallerVariable variable : kRouting) EXPECT_EQ(InChild(child, variable), std::nullopt);
  child.Bind(BindingOf("B"));
  EXPECT_EQ(InChild(child, kKey), "key-B");
  EXPECT_EQ(InChild(child, kChatId), "chat-B");
  EXPECT_EQ(InChild(child, kThreadId), "thread-B");
  EXPECT_EQ(InChild(parent, kKey), "key-A");
}

// AC-03
TEST_F(CallerContextTest, ResetLeavesUnsetNotEmpty) {
  CallerContext context(host_);
  for (const CallerVariable variable : AllCallerVariables()) context.Set(variable, "x");
  context.Reset();
  for (const CallerVariable variable : AllCallerVariables()) {
    EXPECT_EQ(context.slot(variable), std::nullopt) << EnvironmentName(variable);
  }
  context.Reset();
  EXPECT_EQ(context.slot(kKey), std::nullopt);
}

// AC-04, the three cases of asynchronous delivery.
TEST_F(CallerContextTest, AForkInheritsTheDeliveryCapability) {
  CallerContext parent(host_);
  parent.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  EXPECT_FALSE(parent.Fork().supports_async_delivery());
}

TEST_F(CallerContextTest, ResetGivesTheDeliveryCapabilityBack) {
  CallerContext parent(host_);
  parent.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  CallerContext child = parent.Fork();
  child.Reset();
  EXPECT_TRUE(child.supports_async_delivery());
}

TEST_F(CallerContextTest, ResetLeavesTheDeliveryCapabilityUnset) {
  CallerContext context(host_);
  context.DeclareStateless();
  context.Reset();
  EXPECT_EQ(context.async_delivery(), std::nullopt);
}

TEST_F(CallerContextTest, ClearLeavesTheDeliveryCapabilityUnset) {
  CallerContext context(host_);
  context.Bind({.values = {}, .async_delivery = AsyncDelivery::kUnsupported});
  context.Clear();
  EXPECT_EQ(context.async_delivery(), std::nullopt);
}

// AC-05
TEST_F(CallerContextTest, AClearedSessionReadsEmptyAlthoughTheStartHadAValue) {
  CallerContext context(host_);
  context.Bind(BindingOf("A"));
  EXPECT_EQ(context.Get(kChatId), "chat-A");
  context.Clear();
  EXPECT_EQ(context.Get(kChatId, "fallback"), "");
  EXPECT_EQ(InChild(context, kChatId), "");
}

// AC-06
TEST_F(CallerContextTest, UnsetReadsTheStartEnvironmentThenTheFallback) {
  const CallerContext context(host_);
  EXPECT_EQ(context.Get(kChatId, "fallback"), "start");
  EXPECT_EQ(context.Get(kUserId, "fallback"), "fallback");
}

// After several sessions have been bound, the start environment describes none of them.
TEST_F(CallerContextTest, AfterEngagementReadsIgnoreTheStartEnvironment) {
  CallerContext other(host_);
  other.Bind(BindingOf("A"));
  const CallerContext context(host_);
  EXPECT_EQ(context.Get(kChatId, "fallback"), "fallback");
}

// AC-07
TEST_F(CallerContextTest, OverlappingTasksReadBackTheirOwn) {
  std::vector<std::jthread> tasks;
  for (int i = 0; i < 8; ++i) {
    tasks.emplace_back([this, i] {
      const std::string who = std::to_string(i);
      for (int round = 0; round < 500; ++round) {
        CallerContext context(host_);
        context.Bind(BindingOf(who));
        EXPECT_EQ(context.Get(kKey), "key-" + who);
        EXPECT_EQ(InChild(context, kChatId), "chat-" + who);
      }
    });
  }
}

// AC-08
TEST_F(CallerContextTest, VariablesThatABindingOmitsAreEmpty) {
  CallerContext context(host_);
  context.Set(kJobId, "job");
  context.Bind({.values = {{kPlatform, "slack"}}});
  for (const CallerVariable variable : AllCallerVariables()) {
    if (variable == kPlatform || !IsBoundBySession(variable)) continue;
    EXPECT_EQ(context.slot(variable), "") << EnvironmentName(variable);
  }
  EXPECT_EQ(context.slot(kCron), std::nullopt);
  EXPECT_EQ(context.slot(kJobId), "job");
}

// AC-09
TEST_F(CallerContextTest, NothingWritesTheProcessEnvironment) {
  const EnvironmentMap before = CaptureEnvironment();
  CallerContext context(host_);
  context.Bind(BindingOf("A"));
  context.Set(kId, "7");
  context.Clear();
  EXPECT_EQ(CaptureEnvironment(), before);
}

// AC-10
TEST_F(CallerContextTest, OnlyBindingEngages) {
  CallerContext context(host_);
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
TEST_F(CallerContextTest, TwoForksStayApart) {
  CallerContext parent(host_);
  CallerContext a = parent.Fork();
  CallerContext b = parent.Fork();
  a.Bind(BindingOf("A"));
  b.Bind(BindingOf("B"));
  EXPECT_EQ(a.Get(kKey), "key-A");
  EXPECT_EQ(b.Get(kKey), "key-B");
  EXPECT_EQ(parent.slot(kKey), std::nullopt);
}

// AC-12
TEST_F(CallerContextTest, ACronMarkStaysInItsJob) {
  CallerHost host({{EnvironmentName(kCron), "leaked"}});
  CallerContext scheduler(host);
  const CallerContext sibling = scheduler.Fork();
  {
    const CallerScope job(scheduler);
    scheduler.Set(kCron, "1");
    EXPECT_EQ(scheduler.Get(kCron), "1");
    EXPECT_EQ(sibling.slot(kCron), std::nullopt);
  }
  EXPECT_EQ(scheduler.slot(kCron), std::nullopt);
  // There is still one user, so the start environment is theirs.
  EXPECT_EQ(scheduler.Get(kCron), "leaked");
}

// AC-13
TEST_F(CallerContextTest, AnExplicitlyEmptyCronMarkMasksALeakedOne) {
  CallerHost host({{EnvironmentName(kCron), "1"}});
  CallerContext context(host);
  context.Set(kCron, "");
  EXPECT_EQ(context.Get(kCron), "");
  EXPECT_EQ(InChild(context, kCron), "");
}

// AC-27 to AC-31: children under their own names, nested, and the parent unchanged.
TEST_F(CallerContextTest, ScopesNestAndRestoreExactly) {
  CallerContext context(host_);
  context.Bind({.values = {{kId, "parent"}}});
  {
    const CallerScope outer(context);
    context.Set(kId, "outer");
    {
      const CallerScope inner(context);
      context.Bind({.values = {{kId, "inner"}}, .async_delivery = AsyncDelivery::kUnsupported});
      EXPECT_EQ(InChild(context, kId), "inner");
    }
    EXPECT_EQ(context.Get(kId), "outer");
    EXPECT_TRUE(context.supports_async_delivery());
    context.Reset();
  }
  EXPECT_EQ(context.Get(kId), "parent");
}

TEST_F(CallerContextTest, AScopeRestoresUnsetAsUnset) {
  CallerContext context(host_);
  {
    const CallerScope scope(context);
    context.Bind(BindingOf("A"));
  }
  EXPECT_EQ(context.slot(kKey), std::nullopt);
}

// AC-33
TEST_F(CallerContextTest, AScopeRestoresWhenAnExceptionLeavesIt) {
  CallerContext context(host_);
  context.Bind(BindingOf("A"));
  try {
    const CallerScope scope(context);
    context.Bind(BindingOf("B"));
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(context.Get(kKey), "key-A");
  }
}

TEST_F(CallerContextTest, EveryVariableHasItsOwnNameUnderThePrefix) {
  std::vector<std::string> names;
  for (const CallerVariable variable : AllCallerVariables()) {
    EXPECT_TRUE(EnvironmentName(variable).starts_with(kSessionPrefix));
    EXPECT_GT(EnvironmentName(variable).size(), kSessionPrefix.size());
    EXPECT_THAT(names, testing::Not(testing::Contains(EnvironmentName(variable))));
    names.push_back(EnvironmentName(variable));
  }
}

}  // namespace
}  // namespace caisson
