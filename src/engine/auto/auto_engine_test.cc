#include "engine/auto/auto_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/spawn.h"
#include "engine/fake/fake_engine.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;

struct Recorder : RunEvents {
  void OnOutput(OutputStream /*stream*/, std::string_view bytes) override { out.append(bytes); }
  void OnCall(ToolCall call) override {
    if (on_call) on_call(std::move(call));
  }
  std::string out;
  std::function<void(ToolCall)> on_call;
};

Outcome Returned(std::int64_t value) {
  Outcome outcome;
  outcome.status = RunStatus::kCompleted;
  outcome.reason = RunReason::kReturned;
  outcome.result = Value(value);
  return outcome;
}

Outcome NeedsNative(std::vector<std::string> modules) {
  Outcome outcome;
  outcome.status = RunStatus::kRejected;
  outcome.reason = RunReason::kPolicy;
  outcome.native_modules = std::move(modules);
  return outcome;
}

class AutoEngineTest : public ::testing::Test {
 protected:
  AutoEngineTest() {
    auto wasm = std::make_unique<FakeEngine>(context_.get_executor());
    auto native = std::make_unique<FakeEngine>(context_.get_executor());
    wasm_ = wasm.get();
    native_ = native.get();
    engine_ = std::make_unique<AutoEngine>(
        std::move(wasm),
        AutoEngineOptions{
            .start_native = [this, engine = std::make_shared<std::unique_ptr<Engine>>(
                                       std::move(native))]() -> Result<std::unique_ptr<Engine>> {
              ++started_;
              if (while_starting_) while_starting_();
              if (refuse_) return Error(ErrorCode::kUnavailable, "no namespaces");
              return std::move(*engine);
            },
            .native_packages = std::make_shared<const std::vector<std::string>>(1, "numpy")});
  }

  template <typename F>
  void Run(F body) {
    // Keeps the loop running while the starter's thread works.
    auto work = asio::make_work_guard(context_);
    Spawn(
        context_.get_executor(), [&]() -> asio::awaitable<void> { co_await body(); },
        [&](std::exception_ptr error) {
          EXPECT_FALSE(error);
          work.reset();
        });
    context_.run();
    context_.restart();
  }
  asio::awaitable<std::unique_ptr<Cell>> Open() {
    auto cell = co_await engine_->Open({.owner = OwnerId("a")});
    co_return *std::move(cell);
  }

  asio::io_context context_;
  FakeEngine* wasm_ = nullptr;
  FakeEngine* native_ = nullptr;
  std::unique_ptr<AutoEngine> engine_;
  std::atomic<int> started_ = 0;
  bool refuse_ = false;
  std::function<void()> while_starting_;  // On the starter's thread.
};

TEST_F(AutoEngineTest, OrdinaryCodeNeverStartsNative) {
  wasm_->Push({.outcome = Returned(2)});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    Recorder events;
    auto outcome = co_await cell->Run({.code = "1+1"}, events, AfterRun::kDiscard);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{2}));
  });
  EXPECT_EQ(started_, 0);
  EXPECT_THAT(*wasm_->requests().at(0).second.native_packages, ElementsAre("numpy"));
}

TEST_F(AutoEngineTest, TheListenerHearsOfThePackagesThatCodeNeeds) {
  std::vector<std::vector<std::string>> heard;
  engine_->ListenForPackages(
      [&](const std::vector<std::string>& modules) { heard.push_back(modules); });
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push({.outcome = Returned(4)});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    Recorder events;
    auto outcome = co_await cell->Run({.code = "import numpy"}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome) << outcome.error().message();
  });
  engine_.reset();  // Waits for the listener's thread.
  EXPECT_THAT(heard, ElementsAre(ElementsAre("numpy")));
}

TEST_F(AutoEngineTest, WarmingStartsNativeOnce) {
  engine_->Warm();
  engine_->Warm();
  engine_.reset();  // Waits for the start.
  EXPECT_EQ(started_, 1);
}

TEST_F(AutoEngineTest, CodeThatNeedsNativeRunsThereOnceWithItsCallsAndOutput) {
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push(
      {.steps = {FakeOutput{.text = "hi"}, FakeCall{.tool = "add"}}, .outcome = Returned(4)});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    Recorder events;
    events.on_call = [&](const ToolCall& call) {
      EXPECT_EQ(events.out, "hi");
      EXPECT_TRUE(cell->Answer(call.seq, Value(std::int64_t{7})));
      EXPECT_FALSE(cell->Answer(call.seq, Value(std::int64_t{8})));
    };
    auto outcome =
        co_await cell->Run({.code = "import numpy", .tools = {"add"}}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome->result, Value(std::int64_t{4}));
    EXPECT_EQ(std::get<Value>(native_->answers().at(0).second), Value(std::int64_t{7}));
  });
  EXPECT_EQ(started_, 1);
  const RunRequest& handed = native_->requests().at(0).second;
  EXPECT_EQ(handed.code, "import numpy");
  EXPECT_THAT(handed.tools, ElementsAre("add"));
  EXPECT_THAT(handed.modules, ElementsAre("numpy"));
  EXPECT_EQ(native_->requests().at(0).first, OwnerId("a"));
}

TEST_F(AutoEngineTest, ARunThatDidSomethingIsNotHandedOnWhateverItSays) {
  wasm_->Push({.steps = {FakeOutput{.text = "did something"}}, .outcome = NeedsNative({"numpy"})});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    Recorder events;
    auto outcome = co_await cell->Run({.code = "x"}, events, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kRejected);
  });
  EXPECT_EQ(started_, 0);
}

TEST_F(AutoEngineTest, CellsOfNativeArePreparedOnceRunsHaveMovedThere) {
  native_->WorthPreparing();
  wasm_->Push({.outcome = Returned(1)});
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push({.outcome = Returned(2)});
  Run([&]() -> asio::awaitable<void> {
    Recorder events;
    auto plain = co_await Open();
    EXPECT_TRUE(co_await plain->Run({.code = "1"}, events, AfterRun::kDiscard));
    EXPECT_FALSE(plain->preparation());
    auto cell = co_await Open();
    EXPECT_TRUE(co_await cell->Run({.code = "import numpy"}, events, AfterRun::kDiscard));
    auto preparation = cell->preparation();
    EXPECT_TRUE(preparation);
    auto prepared = co_await engine_->Prepare(*std::move(preparation));
    EXPECT_TRUE(prepared);
    EXPECT_EQ(native_->waiting_cells(), 1);

    // The next run that moves there gets it.
    wasm_->Push({.outcome = NeedsNative({"numpy"})});
    native_->Push({.outcome = Returned(3)});
    auto next = co_await engine_->Open({.owner = OwnerId("a"), .prepared = *std::move(prepared)});
    EXPECT_TRUE(co_await (*next)->Run({.code = "import numpy"}, events, AfterRun::kDiscard));
  });
  EXPECT_THAT(native_->opened_prepared(), ElementsAre(OwnerId("a")));
  EXPECT_THAT(wasm_->opened_prepared(), ElementsAre());
  EXPECT_EQ(native_->waiting_cells(), 0);
}

TEST_F(AutoEngineTest, ARunThatStaysInWasmLetsGoOfWhatWasPrepared) {
  Run([&]() -> asio::awaitable<void> {
    wasm_->Push({.outcome = Returned(1)});
    auto prepared = co_await engine_->Prepare({});
    auto cell = co_await engine_->Open({.owner = OwnerId("a"), .prepared = *std::move(prepared)});
    EXPECT_EQ(native_->waiting_cells(), 1);
    Recorder events;
    EXPECT_TRUE(co_await (*cell)->Run({.code = "1"}, events, AfterRun::kKeep));
    EXPECT_EQ(native_->waiting_cells(), 0);  // Although the session goes on.
  });
}

TEST_F(AutoEngineTest, ASessionGoesOnWhereItBegan) {
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push({.outcome = Returned(1)});
  native_->Push({.outcome = Returned(2)});
  wasm_->Push({.outcome = Returned(3)});
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  Run([&]() -> asio::awaitable<void> {
    Recorder events;
    auto native = co_await Open();
    auto outcome = co_await native->Run({.code = "import numpy"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{1}));
    outcome = co_await native->Run({.code = "1+1"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{2}));
    auto wasm = co_await Open();
    outcome = co_await wasm->Run({.code = "x = 3"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{3}));
    outcome = co_await wasm->Run({.code = "import numpy"}, events, AfterRun::kKeep);
    EXPECT_EQ(outcome->status, RunStatus::kRejected);
  });
}

TEST_F(AutoEngineTest, ACopyGoesOnInTheEngineOfItsSource) {
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push({.outcome = Returned(1)});
  native_->Push({.outcome = Returned(2)});
  Run([&]() -> asio::awaitable<void> {
    Recorder events;
    auto source = co_await Open();
    auto outcome = co_await source->Run({.code = "import numpy"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{1}));
    auto saved = co_await source->Save(AfterSave::kKeep);
    saved->origin = CellOrigin{.owner = OwnerId("a")};  // As engine native sets it.
    auto copy = co_await engine_->Restore({.owner = OwnerId("a")}, *saved, {});
    EXPECT_TRUE(copy) << copy.error().message();
    outcome = co_await (*copy)->Run({.code = "1+1"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{2}));
  });
  EXPECT_EQ(native_->restored(), 1);
  EXPECT_EQ(wasm_->restored(), 0);
}

TEST_F(AutoEngineTest, ANativeEngineThatCannotStartIsAnErrorAndTheCellStaysUsable) {
  refuse_ = true;
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  wasm_->Push({.outcome = Returned(5)});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    Recorder events;
    for (int i = 0; i < 2; ++i) {
      auto outcome = co_await cell->Run({.code = "import numpy"}, events, AfterRun::kDiscard);
      EXPECT_THAT(outcome.error().message(), ::testing::HasSubstr("no namespaces"));
    }
    auto outcome = co_await cell->Run({.code = "5"}, events, AfterRun::kDiscard);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{5}));
  });
  EXPECT_EQ(started_, 1);  // Not tried again at once.
}

TEST_F(AutoEngineTest, CancellingWhileItMovesEndsTheRunBeforeItBegins) {
  wasm_->Push({.outcome = NeedsNative({"numpy"})});
  native_->Push({.outcome = Returned(1)});
  Run([&]() -> asio::awaitable<void> {
    auto cell = co_await Open();
    while_starting_ = [&] { cell->Cancel(); };
    Recorder events;
    auto outcome = co_await cell->Run({.code = "import numpy"}, events, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kCancelled);
    EXPECT_TRUE(native_->requests().empty());
  });
}

}  // namespace
}  // namespace caisson
