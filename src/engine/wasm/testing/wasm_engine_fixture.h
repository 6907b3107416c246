// Fixture for tests of the wasm engine: an engine with thread workers, and runs on its lanes.
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
#include "engine/wasm/testing/fake_worker.h"
#include "engine/wasm/wasm_engine.h"

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

inline std::unique_ptr<WasmEngine> MakeEngine(WorkerScript script, WasmEngineOptions options = {}) {
  if (options.lanes == 0) options.lanes = 1;
  options.pin = false;
  auto engine =
      WasmEngine::Create(std::move(options), std::make_unique<ThreadLauncher>(std::move(script)));
  EXPECT_TRUE(engine) << engine.error().message();
  return *std::move(engine);
}

// Runs a coroutine on a lane to its end.
template <typename F>
void OnLane(WasmEngine& engine, F body, std::size_t lane = 0) {
  std::promise<void> done;
  Spawn(
      engine.lane_executor(lane), [&]() -> asio::awaitable<void> { co_await body(); },
      [&](std::exception_ptr error) {
        EXPECT_FALSE(error);
        done.set_value();
      });
  done.get_future().get();
}

inline asio::awaitable<Result<Outcome>> RunOnce(WasmEngine& engine, std::string code,
                                                RunEvents& events, Limits limits = {}) {
  auto cell = co_await engine.Open({.owner = OwnerId("a")});
  if (!cell) co_return std::move(cell).error();
  co_return co_await (*cell)->Run({.code = std::move(code), .limits = limits}, events,
                                  AfterRun::kDiscard);
}

// Handles the first start; after that the worker answers every request with its code.
using FirstRun = std::function<void(WorkerEnd&, const Received&)>;
inline WorkerScript Worker(FirstRun first) {
  return [first = std::move(first)](WorkerEnd& end, int number) -> WorkerExit {
    end.Ready();
    bool is_first = number == 0;
    while (auto message = end.Receive()) {
      if (message->kind != wire::ToWorker::kStart) continue;
      if (std::exchange(is_first, false)) {
        first(end, *message);
      } else {
        end.Return(message->cell, message->Code());
      }
    }
    return {.signal = 9};
  };
}

}  // namespace caisson::testing
