// Runs a benchmark as a coroutine on one of an engine's lanes, like any user of the library.
//
// Trust     Outcomes are compared with the expected ones; a difference ends the benchmark.
// Threads   OnLane blocks its caller, which must not be a lane. All else runs on the lane.
// Lifetime  Borrows the engine.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/run_on.h"
#include "engine/engine.h"

namespace caisson::bench {

using Clock = std::chrono::steady_clock;

inline double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// An engine of any kind with the executors of its lanes.
class Lanes {
 public:
  template <typename AnyEngine>
  Lanes(AnyEngine& engine) : engine_(engine) {  // NOLINT(google-explicit-constructor): a view.
    for (std::size_t i = 0; i < engine.lanes(); ++i) executors_.push_back(engine.lane_executor(i));
  }
  Engine& engine() const { return engine_; }
  std::size_t count() const { return executors_.size(); }
  const asio::any_io_executor& executor(std::size_t lane) const { return executors_[lane]; }

 private:
  Engine& engine_;
  std::vector<asio::any_io_executor> executors_;
};

template <typename T>
Result<T> OnLane(const Lanes& lanes, std::size_t lane, asio::awaitable<Result<T>> work) {
  return WaitFor(lanes.executor(lane), std::move(work));
}

// Answers every call with its own first argument, at once.
class EchoEvents final : public RunEvents {
 public:
  void OnOutput(OutputStream stream, std::string_view bytes) override;
  void OnCall(ToolCall call) override;

  Cell* cell = nullptr;
};

// Opens a fresh cell, runs once, and discards the cell.
asio::awaitable<Result<Outcome>> RunFresh(Engine& engine, RunRequest request);

// Fails and shows the outcome, unless the run completed with this result and output.
Result<void> Expect(const Outcome& outcome, const std::optional<Value>& result,
                    std::string_view output);
inline Result<void> ExpectResult(const Outcome& outcome, Value result) {
  return Expect(outcome, std::move(result), "");
}

}  // namespace caisson::bench
