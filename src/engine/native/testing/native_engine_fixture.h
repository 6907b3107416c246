// Fixture for tests of the native engine: an engine with thread fork servers, and runs on its lane.
//
// Trust     Tests only.
// Threads   Bodies of OnLane run on the lane; the test's own thread waits for them.
// Lifetime  The engine outlives what runs on it.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "engine/native/native_engine.h"
#include "engine/native/testing/fake_fork_server.h"

namespace caisson::testing {

struct Recorder : RunEvents {
  void OnOutput(OutputStream stream, std::string_view bytes) override {
    (stream == OutputStream::kStdout ? out : err).append(bytes);
  }
  void OnCall(ToolCall call) override {
    EXPECT_TRUE(Unpack(call));
    calls.push_back(call);
    if (on_call) on_call(std::move(call));
  }
  std::string out;
  std::string err;
  std::vector<ToolCall> calls;
  std::function<void(ToolCall)> on_call;
};

inline Result<std::unique_ptr<NativeEngine>> TryMakeEngine(ForkServerBehaviour behaviour,
                                                           NativeEngineOptions options = {}) {
  options.lanes = 1;
  options.pin = false;
  return NativeEngine::Create(std::move(options),
                              std::make_unique<ThreadForkServerLauncher>(std::move(behaviour)));
}

inline std::unique_ptr<NativeEngine> MakeEngine(ForkServerBehaviour behaviour,
                                                NativeEngineOptions options = {}) {
  auto engine = TryMakeEngine(std::move(behaviour), std::move(options));
  EXPECT_TRUE(engine) << engine.error().message();
  return *std::move(engine);
}

// Runs a coroutine on the lane to its end.
template <typename F>
void OnLane(NativeEngine& engine, F body) {
  std::promise<void> done;
  Spawn(
      engine.lane_executor(0), [&]() -> asio::awaitable<void> { co_await body(); },
      [&](std::exception_ptr error) {
        EXPECT_FALSE(error);
        done.set_value();
      });
  done.get_future().get();
}

inline asio::awaitable<Result<Outcome>> RunOnce(NativeEngine& engine, std::string code,
                                                RunEvents& events, Limits limits = {}) {
  auto cell = co_await engine.Open({.owner = OwnerId("a")});
  if (!cell) co_return std::move(cell).error();
  co_return co_await (*cell)->Run({.code = std::move(code), .limits = limits}, events,
                                  AfterRun::kDiscard);
}

}  // namespace caisson::testing
