// Runs with a key, and callers that wait for one run at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/spawn.h"
#include "tests/durable/replica.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KeyedRunsTest : public DurableRunsTest {
 protected:
  RunSpec Request(std::shared_ptr<const CodeSetting> setting = nullptr) {
    return {.code = "code",
            .setting = std::move(setting),
            .key = RunKey{
                .id = IdempotencyKey("k"), .fingerprint = "f", .expires_at = clock_.Now() + 24h}};
  }
  Result<KeyedRun> ByKey(Replica& replica) {
    return loop_.Await(replica.runs().FindByKey(ann_, IdempotencyKey("k")));
  }
  // Returns at once, or the test hangs: this caller has seen nothing yet.
  RunView AwaitAsStranger(Replica& replica, const RunId& id) {
    return *loop_.Await(
        replica.runs().Await(ann_, id, {}, std::chrono::steady_clock::now() + 10 * kPatience));
  }
};

TEST_F(KeyedRunsTest, AKeyStartsOneRunOnAllReplicas) {
  const auto there = Make();
  const RunView view = Start(Script({FakeCall{.tool = "send"}}), Request());
  for (Replica* replica : {here_.get(), there.get()}) {
    replica->engine().Push(Script({FakeCall{.tool = "read"}}));
    EXPECT_EQ(loop_.Await(replica->runs().Start(ann_, Request())).error().code(),
              ErrorCode::kFailedPrecondition);
    EXPECT_EQ(loop_.Await(replica->runs().StartDetached(ann_, Request())).error().code(),
              ErrorCode::kFailedPrecondition);
    EXPECT_EQ(ByKey(*replica)->run, view.id);
    EXPECT_EQ(ByKey(*replica)->fingerprint, "f");
  }
  EXPECT_EQ(loop_.Await(here_->runs().List(ann_, {}, {}))->items.size(), 1u);
  EXPECT_EQ(loop_.Await(here_->runs().FindByKey(bob_, IdempotencyKey("k"))).error().code(),
            ErrorCode::kNotFound);
  EXPECT_THAT(effects_, IsEmpty());
}

// Also a run without a journal: it is in the store, under its key, before it does anything.
TEST_F(KeyedRunsTest, ARunIsFoundByItsKeyBeforeItHasAnEffect) {
  std::optional<Result<KeyedRun>> found;
  const auto look = *Tool::Make({.name = "look"}, Awaitable([&](Dict) -> asio::awaitable<Value> {
                                  found =
                                      co_await here_->runs().FindByKey(ann_, IdempotencyKey("k"));
                                  co_return Value();
                                }));
  const RunView view = Start(Script({FakeCall{.tool = "look"}}), Request(Setting({look})));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->run, view.id);
}

TEST_F(KeyedRunsTest, ARunThatCouldNotBeginFreesItsKey) {
  here_->engine().FailNextOpen(Error(ErrorCode::kResourceExhausted, "no room"));
  EXPECT_EQ(loop_.Await(here_->runs().Start(ann_, Request())).error().code(),
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(ByKey(*here_).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Start(Script({}), Request()).outcome.status, RunStatus::kCompleted);
}

TEST_F(KeyedRunsTest, ARunWithAKeyGoesOnWhenItsClientLeaves) {
  for (const bool keyed : {true, false}) {
    const Stop leave(loop_.context().get_executor());
    std::optional<RunId> id;
    bool returned = false;
    const auto slow =
        *Tool::Make({.name = "slow"}, Awaitable([&](Dict) -> asio::awaitable<Value> {
                      leave.Request();
                      asio::steady_timer pause(co_await asio::this_coro::executor, 50ms);
                      co_await pause.async_wait(asio::use_awaitable);
                      effects_.push_back("slow");
                      co_return Value();
                    }));
    RunSpec request = Request(Setting({slow, Counting("send", Approval::Always())}));
    if (!keyed) request.key.reset();
    request.on_start = [&](const RunId& started) { id = started; };
    here_->engine().Push(Script({FakeCall{.tool = "slow"}}));
    const auto start = [&]() -> asio::awaitable<void> {
      static_cast<void>(co_await here_->runs().Start(ann_, std::move(request)));
      returned = true;
    };
    Spawn(leave, start(), [&](const std::exception_ptr&) { returned = true; });
    loop_.Until([&] { return returned; });
    loop_.Until([&] { return Find(*id).state == RunState::kFinished; });
    EXPECT_EQ(Find(*id).outcome.status, keyed ? RunStatus::kCompleted : RunStatus::kCancelled);
  }
  EXPECT_THAT(effects_, ElementsAre("slow"));
}

// What one caller was told does not count for another: here the one that started the run, and then
// one that repeats the request, on this replica and on another.
TEST_F(KeyedRunsTest, EachCallerIsToldWhatTheRunWaitsFor) {
  const auto there = Make();
  const RunView view = Start(Script({FakeCall{.tool = "send"}}), Request());
  ASSERT_EQ(view.state, RunState::kWaiting);
  for (Replica* replica : {here_.get(), there.get(), here_.get()}) {
    static_cast<void>(loop_.Await(replica->runs().Find(ann_, view.id)));
    const RunView told = AwaitAsStranger(*replica, view.id);
    EXPECT_EQ(told.state, RunState::kWaiting);
    EXPECT_EQ(ApprovalIds(told), ApprovalIds(view));
  }
  // A caller that knows the question waits for the next event.
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
}

// The window of the lost wake-up: the second caller looks while the run is under way, and waits
// after the first was told.
TEST_F(KeyedRunsTest, ACallerThatLookedBeforeTheRunWaitedIsToldAsWell) {
  std::optional<RunView> looked;
  const auto look = *Tool::Make({.name = "look"}, Awaitable([&](Dict) -> asio::awaitable<Value> {
                                  const auto run =
                                      co_await here_->runs().FindByKey(ann_, IdempotencyKey("k"));
                                  looked = *co_await here_->runs().Find(ann_, run->run);
                                  co_return Value();
                                }));
  const RunView view = Start(Script({FakeCall{.tool = "look"}, FakeCall{.tool = "send"}}),
                             Request(Setting({look, Counting("send", Approval::Always())})));
  ASSERT_TRUE(looked);
  EXPECT_EQ(looked->state, RunState::kRunning);
  EXPECT_EQ(ApprovalIds(AwaitAsStranger(*here_, looked->id)), ApprovalIds(view));
}

}  // namespace
}  // namespace caisson
