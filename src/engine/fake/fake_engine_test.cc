#include "engine/fake/fake_engine.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>

#include "base/spawn.h"

namespace caisson {
namespace {

struct Recorder : RunEvents {
  void OnOutput(OutputStream, std::string_view bytes) override { out.append(bytes); }
  void OnCall(ToolCall call) override {
    if (on_call) on_call(std::move(call));
  }
  std::string out;
  std::function<void(ToolCall)> on_call;
};

FakeScript Script() {
  return {.steps = {FakeOutput{.text = "a"}, FakeCall{.tool = "f"}, FakeOutput{.text = "b"}},
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}

template <typename F>
void InLoop(F body) {
  asio::io_context context;
  FakeEngine engine(context.get_executor());
  bool ended = false;
  Spawn(context.get_executor(), [&]() -> asio::awaitable<void> {
    co_await body(engine);
    ended = true;
  });
  context.run();
  EXPECT_TRUE(ended);
}

TEST(FakeEngineTest, PlaysItsScript) {
  InLoop([](FakeEngine& engine) -> asio::awaitable<void> {
    engine.Push(Script());
    Recorder events;
    auto cell = *co_await engine.Open({.owner = OwnerId("a")});
    events.on_call = [&](const ToolCall& call) {
      EXPECT_EQ(call.tool, "f");
      EXPECT_TRUE(cell->Answer(0, Value(true)));
      EXPECT_FALSE(cell->Answer(0, Value(true)));
    };
    auto outcome = co_await cell->Run({.code = "code"}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
    EXPECT_EQ(outcome->stdout_text, "ab");
    EXPECT_EQ(outcome->calls.at(0).outcome, "returned");
    EXPECT_EQ(engine.requests().at(0).second.code, "code");
    EXPECT_EQ(engine.answers().size(), 1u);
  });
}

TEST(FakeEngineTest, CancelEndsARunThatWaits) {
  InLoop([](FakeEngine& engine) -> asio::awaitable<void> {
    engine.Push(Script());
    Recorder events;
    auto cell = *co_await engine.Open({.owner = OwnerId("a")});
    events.on_call = [&](const ToolCall&) { cell->Cancel(); };
    auto outcome = co_await cell->Run({.code = "code"}, events, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kCancelled);
    EXPECT_EQ(outcome->calls.at(0).outcome, "pending");
  });
}

TEST(FakeEngineTest, ASavedCellGoesOnForItsOwnerOnly) {
  InLoop([](FakeEngine& engine) -> asio::awaitable<void> {
    engine.Push(Script());
    Recorder events;
    SavedCell saved;
    auto cell = *co_await engine.Open({.owner = OwnerId("a")});
    auto executor = co_await asio::this_coro::executor;
    events.on_call = [&](const ToolCall&) {
      Spawn(executor, [](Cell* target, SavedCell& out) -> asio::awaitable<void> {
        out = *co_await target->Save(AfterSave::kDiscard);
      }(cell.get(), saved));
    };
    auto outcome = co_await cell->Run({.code = "code"}, events, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kWaiting);
    EXPECT_FALSE(co_await engine.Restore({.owner = OwnerId("b")}, saved, Limits{}));
    auto restored = *co_await engine.Restore({.owner = OwnerId("a")}, saved, Limits{});
    Recorder later;
    EXPECT_TRUE(restored->Answer(0, Value(true)));
    outcome = co_await restored->Continue(later, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
    EXPECT_EQ(later.out, "b");
  });
}

}  // namespace
}  // namespace caisson
