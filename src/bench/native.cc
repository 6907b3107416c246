#include "bench/native.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/spawn.h"
#include "bench/worker_usage.h"

namespace caisson::bench {
namespace {

constexpr int kWarmUpBursts = 3;
// The pause in which the cells of a burst are made again: several times the duration of one.
constexpr std::chrono::milliseconds kPausePerCell{3};
constexpr std::chrono::seconds kPatience{10};

asio::awaitable<void> Pause(std::chrono::nanoseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<Result<void>> TimeOne(Engine& engine, const NativePlan& plan, NativeTimes& times) {
  const auto begin = Clock::now();
  auto cell = co_await engine.Open({.owner = OwnerId("bench")});
  if (!cell) co_return std::move(cell).error();
  EchoEvents events;
  events.cell = cell->get();
  const auto opened = Clock::now();
  auto outcome = co_await (*cell)->Run(plan.request, events, AfterRun::kDiscard);
  const auto end = Clock::now();
  if (!outcome) co_return std::move(outcome).error();
  // Its wall time ends with its report; the end of its process follows.
  times.report_us.push_back(Microseconds(opened - begin + outcome->usage.wall));
  times.outcome_us.push_back(Microseconds(end - begin));
  co_return Expect(*outcome, plan.result, "");
}

asio::awaitable<Result<NativeTimes>> TimeBursts(Engine& engine, NativePlan plan) {
  NativeTimes warm_up;
  NativeTimes times;
  int bursts = -kWarmUpBursts;
  while (times.report_us.size() < static_cast<std::size_t>(plan.runs)) {
    co_await Pause(kPausePerCell * plan.burst);
    for (int i = 0; i < plan.burst; ++i) {
      auto right = co_await TimeOne(engine, plan, bursts < 0 ? warm_up : times);
      if (!right) co_return std::move(right).error();
    }
    ++bursts;
  }
  co_return times;
}

// Records the time of the code's first call.
struct FirstWord final : RunEvents {
  void OnOutput(OutputStream /*stream*/, std::string_view /*bytes*/) override { Note(); }
  void OnCall(ToolCall call) override {
    Note();
    static_cast<void>(cell->Answer(call.seq, Value()));
  }
  void Note() {
    if (!at) at = Clock::now();
    if (spoken != nullptr) spoken->cancel();
  }

  Cell* cell = nullptr;
  asio::steady_timer* spoken = nullptr;
  std::optional<Clock::time_point> at;
};

asio::awaitable<Result<Samples>> TimeOnDemand(Engine& engine, int runs) {
  Samples samples;
  for (int i = -kWarmUpBursts; i < runs; ++i) {
    FirstWord events;
    const auto begin = Clock::now();
    auto cell = co_await engine.Open({.owner = OwnerId("bench")});
    if (!cell) co_return std::move(cell).error();
    events.cell = cell->get();
    RunRequest request{.code = "ask()", .tools = {"ask"}};
    auto outcome = co_await (*cell)->Run(std::move(request), events, AfterRun::kDiscard);
    if (!outcome) co_return std::move(outcome).error();
    if (auto right = Expect(*outcome, std::nullopt, ""); !right || !events.at) {
      co_return Error(ErrorCode::kInternal, "a run made on demand did not make its call");
    }
    if (i >= 0) samples.push_back(Microseconds(*events.at - begin));
  }
  co_return samples;
}

// A started busy loop, and its outcome once there is one.
struct BusyRun {
  explicit BusyRun(const asio::any_io_executor& executor) : changed(executor) {
    events.spoken = &changed;
  }

  static asio::awaitable<void> Run(std::shared_ptr<BusyRun> self) {
    self->outcome = co_await self->cell->Run({.code = "print('on')\nwhile True: pass"},
                                             self->events, AfterRun::kDiscard);
    self->ended_at = Clock::now();
    self->changed.cancel();
  }
  asio::awaitable<void> AwaitChange() {
    changed.expires_after(kPatience);
    boost::system::error_code woken;
    co_await changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  asio::steady_timer changed;
  FirstWord events;
  std::unique_ptr<Cell> cell;
  std::optional<Result<Outcome>> outcome;
  Clock::time_point ended_at;
};

asio::awaitable<Result<Samples>> TimeKills(Engine& engine, int runs) {
  Samples samples;
  for (int i = 0; i < runs; ++i) {
    // Waits until the previous cell was made again, which is not part of this measurement.
    co_await Pause(kPausePerCell);
    auto cell = co_await engine.Open({.owner = OwnerId("bench")});
    if (!cell) co_return std::move(cell).error();
    const auto executor = (*cell)->executor();
    auto busy = std::make_shared<BusyRun>(executor);  // Shared with the coroutine that runs it.
    busy->cell = *std::move(cell);
    Spawn(executor, BusyRun::Run(busy));
    if (!busy->events.at) co_await busy->AwaitChange();
    const auto killed_at = Clock::now();
    busy->cell->Cancel();
    if (!busy->outcome) co_await busy->AwaitChange();
    if (!busy->outcome || !*busy->outcome || (*busy->outcome)->status != RunStatus::kCancelled) {
      co_return Error(ErrorCode::kInternal, "a busy loop was not cancelled");
    }
    samples.push_back(Microseconds(busy->ended_at - killed_at));
  }
  co_return samples;
}

}  // namespace

Result<NativeTimes> NativeRuns(const Lanes& lanes, NativePlan plan) {
  return OnLane(lanes, 0, TimeBursts(lanes.engine(), std::move(plan)));
}

Result<Samples> OnDemand(const Lanes& lanes, int runs) {
  return OnLane(lanes, 0, TimeOnDemand(lanes.engine(), runs));
}

Result<Samples> KillTimes(const Lanes& lanes, int runs) {
  return OnLane(lanes, 0, TimeKills(lanes.engine(), runs));
}

Result<Samples> WaitingCellBytes(std::size_t cells) {
  const auto deadline = Clock::now() + kPatience;
  while (true) {
    Samples bytes = ReadNativeCellBytes();
    if (bytes.size() >= cells) return bytes;
    if (Clock::now() > deadline) {
      return Error(ErrorCode::kInternal, "the fork server did not make the expected cells");
    }
  }
}

}  // namespace caisson::bench
