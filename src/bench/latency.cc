#include "bench/latency.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <utility>

#include "bench/lane_work.h"

namespace caisson::bench {
namespace {

constexpr int kWarmUpRuns = 50;
constexpr int kRunsPerSession = 10;

asio::awaitable<Result<Samples>> TimeRuns(Engine& engine, LatencyPlan plan) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  const bool idle = plan.idle.count() > 0;
  const int warm_up = idle ? 1 : kWarmUpRuns;
  Samples samples;
  samples.reserve(static_cast<std::size_t>(plan.runs));
  for (int i = -warm_up; i < plan.runs; ++i) {
    if (idle) {
      pause.expires_after(plan.idle);
      co_await pause.async_wait(asio::use_awaitable);
    }
    const auto begin = Clock::now();
    auto outcome = co_await RunFresh(engine, plan.request);
    const auto took = Clock::now() - begin;
    if (!outcome) co_return std::move(outcome).error();
    if (auto right = Expect(*outcome, plan.result, plan.output); !right)
      co_return std::move(right).error();
    if (i >= 0) samples.push_back(Microseconds(took));
  }
  co_return samples;
}

// Runs `runs` pieces of code in one kept cell. Returns their number.
asio::awaitable<Result<int>> RunSession(Engine& engine, int runs) {
  auto cell = co_await engine.Open({.owner = OwnerId("bench")});
  if (!cell) co_return std::move(cell).error();
  EchoEvents events;
  events.cell = cell->get();
  for (int i = 1; i <= runs; ++i) {
    RunRequest request{.code = i == 1 ? "n = 1\nn" : "n += 1\nn"};
    auto outcome = co_await (*cell)->Run(std::move(request), events, AfterRun::kKeep);
    if (!outcome) co_return std::move(outcome).error();
    auto right = ExpectResult(*outcome, Value(std::int64_t{i}));
    if (!right) co_return std::move(right).error();
  }
  co_return runs;
}

asio::awaitable<Result<Samples>> TimeSessions(Engine& engine, int sessions) {
  Samples samples;
  for (int i = -kWarmUpRuns / kRunsPerSession; i < sessions; ++i) {
    const auto begin = Clock::now();
    auto done = co_await RunSession(engine, kRunsPerSession);
    const auto took = Clock::now() - begin;
    if (!done) co_return std::move(done).error();
    if (i >= 0) samples.push_back(Microseconds(took));
  }
  co_return samples;
}

asio::awaitable<Result<Samples>> TimeEndlessLoops(Engine& engine, int runs) {
  constexpr std::chrono::milliseconds kWallTime{20};
  Samples samples;
  for (int i = 0; i < runs; ++i) {
    RunRequest request{.code = "while True: pass"};
    request.limits.wall_time = kWallTime;
    const auto begin = Clock::now();
    auto outcome = co_await RunFresh(engine, std::move(request));
    const auto took = Clock::now() - begin;
    if (!outcome) co_return std::move(outcome).error();
    if (outcome->reason != RunReason::kWallTime) {
      co_return Error(ErrorCode::kInternal, "an endless loop did not run into its wall time");
    }
    samples.push_back(Microseconds(took - kWallTime));
  }
  co_return samples;
}

}  // namespace

Result<Samples> FreshRuns(const Lanes& lanes, LatencyPlan plan) {
  return OnLane(lanes, 0, TimeRuns(lanes.engine(), std::move(plan)));
}

Result<Samples> TenRunsInOneCell(WasmEngine& engine, int sessions) {
  return OnLane(engine, 0, TimeSessions(engine, sessions));
}

Result<Samples> TimeoutOvershoot(WasmEngine& engine, int runs) {
  return OnLane(engine, 0, TimeEndlessLoops(engine, runs));
}

}  // namespace caisson::bench
