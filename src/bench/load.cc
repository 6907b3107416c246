#include "bench/load.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "bench/lane_work.h"
#include "bench/parked_run.h"
#include "bench/worker_usage.h"

namespace caisson::bench {
namespace {

// Current requests on each lane: enough that the worker always has one waiting.
constexpr int kInFlight = 8;

// --- Runs per second ---

struct Tally {
  std::atomic<std::uint64_t> runs = 0;
  std::atomic<std::uint64_t> wrong = 0;
};

asio::awaitable<void> RunUntil(Engine& engine, Clock::time_point end, Tally& tally) {
  while (Clock::now() < end) {
    auto outcome = co_await RunFresh(engine, {.code = "1+1"});
    const bool right = outcome && ExpectResult(*outcome, Value(std::int64_t{2})).has_value();
    (right ? tally.runs : tally.wrong).fetch_add(1, std::memory_order_relaxed);
    if (!right) co_return;
  }
}

Result<double> RunOnePeriod(const Lanes& lanes, std::chrono::nanoseconds period) {
  Tally tally;
  const auto begin = Clock::now();
  std::vector<std::future<void>> loops;
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    for (int i = 0; i < kInFlight; ++i) {
      loops.push_back(
          SpawnFuture(lanes.executor(lane), RunUntil(lanes.engine(), begin + period, tally)));
    }
  }
  for (auto& loop : loops) loop.get();
  const auto took = Clock::now() - begin;
  if (tally.wrong != 0) return Error(ErrorCode::kInternal, "a run under load went wrong");
  return static_cast<double>(tally.runs) / std::chrono::duration<double>(took).count();
}

// --- Memory ---

Result<std::uint64_t> BytesNow() {
  TRY_ASSIGN(const std::uint64_t workers, ReadWorkerBytes());
  TRY_ASSIGN(const std::uint64_t own, ReadOwnBytes());
  return workers + own;
}

Result<double> Growth(std::uint64_t before, std::size_t cells) {
  TRY_ASSIGN(const std::uint64_t now, BytesNow());
  return static_cast<double>(now - std::min(now, before)) / static_cast<double>(cells);
}

// One run on each lane, so that the memory of a first run is included.
Result<std::uint64_t> BytesAtRest(WasmEngine& engine) {
  for (std::size_t lane = 0; lane < engine.lanes(); ++lane) {
    TRY_ASSIGN(const Outcome outcome, OnLane(engine, lane, RunFresh(engine, {.code = "1+1"})));
    TRY(ExpectResult(outcome, Value(std::int64_t{2})));
  }
  return BytesNow();
}

// Cells and their owners belong to a lane: each lane fills and empties its own share.
template <typename T>
class Shares {
 public:
  Shares(WasmEngine& engine, std::size_t cells) : engine_(engine), held_(engine.lanes()) {
    for (std::size_t i = 0; i < cells; ++i) ++Target(i % engine.lanes());
  }
  ~Shares() {
    for (std::size_t lane = 0; lane < held_.size(); ++lane) {
      static_cast<void>(OnLane(engine_, lane, Drop(held_[lane])));
    }
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // `make` returns an awaitable<Result<T>>; `each` takes a T& and returns an
  // awaitable<Result<Outcome>>.
  template <typename Make>
  Result<void> Fill(Make make) {
    for (std::size_t lane = 0; lane < held_.size(); ++lane) {
      TRY(OnLane(engine_, lane, FillOne(held_[lane], make)));
    }
    return {};
  }
  template <typename Each>
  Result<void> InRandomOrder(Each each) {
    for (std::size_t lane = 0; lane < held_.size(); ++lane) {
      std::shuffle(held_[lane].items.begin(), held_[lane].items.end(), std::minstd_rand(1));
      TRY(OnLane(engine_, lane, Visit(held_[lane], each)));
    }
    return {};
  }

 private:
  struct Share {
    std::size_t target = 0;
    std::vector<T> items;
  };

  std::size_t& Target(std::size_t lane) { return held_[lane].target; }

  template <typename Make>
  static asio::awaitable<Result<void>> FillOne(Share& share, Make make) {
    while (share.items.size() < share.target) {
      auto made = co_await make(share.items.size());
      if (!made) co_return std::move(made).error();
      share.items.push_back(*std::move(made));
    }
    co_return Result<void>();
  }

  template <typename Each>
  static asio::awaitable<Result<void>> Visit(Share& share, Each each) {
    for (T& item : share.items) {
      auto right = co_await each(item);
      if (!right) co_return std::move(right).error();
    }
    co_return Result<void>();
  }

  static asio::awaitable<Result<void>> Drop(Share& share) {
    share.items.clear();
    co_return Result<void>();
  }

  WasmEngine& engine_;
  std::vector<Share> held_;
};

asio::awaitable<Result<std::unique_ptr<Cell>>> KeptCell(Engine& engine) {
  auto cell = co_await engine.Open({.owner = OwnerId("bench")});
  if (!cell) co_return std::move(cell).error();
  EchoEvents events;
  events.cell = cell->get();
  auto outcome = co_await (*cell)->Run({.code = "1+1"}, events, AfterRun::kKeep);
  if (!outcome) co_return std::move(outcome).error();
  auto right = ExpectResult(*outcome, Value(std::int64_t{2}));
  if (!right) co_return std::move(right).error();
  co_return std::move(cell);
}

struct NumberedRun {
  ParkedRun run;
  std::int64_t number;
};

asio::awaitable<Result<NumberedRun>> StartNumbered(Engine& engine, std::size_t number) {
  auto run = co_await ParkedRun::Start(engine, OwnerId("bench"),
                                       "mine = " + std::to_string(number) + "\nask() + mine");
  if (!run) co_return std::move(run).error();
  co_return NumberedRun{.run = *std::move(run), .number = static_cast<std::int64_t>(number)};
}

asio::awaitable<Result<void>> AnswerNumbered(NumberedRun& parked) {
  constexpr std::int64_t kAnswer = 1'000'000;
  if (auto answered = parked.run.Answer(Value(kAnswer)); !answered) {
    co_return std::move(answered).error();
  }
  auto outcome = co_await parked.run.End();
  if (!outcome) co_return std::move(outcome).error();
  co_return ExpectResult(*outcome, Value(kAnswer + parked.number));
}

}  // namespace

Result<Samples> RunsPerSecond(const Lanes& lanes, int periods, std::chrono::nanoseconds period) {
  Samples samples;
  TRY(RunOnePeriod(lanes, period / 4));  // Warms up.
  for (int i = 0; i < periods; ++i) {
    TRY_ASSIGN(const double rate, RunOnePeriod(lanes, period));
    samples.push_back(rate);
  }
  return samples;
}

Result<double> LiveCellBytes(WasmEngine& engine, std::size_t cells) {
  TRY_ASSIGN(const std::uint64_t before, BytesAtRest(engine));
  Shares<std::unique_ptr<Cell>> shares(engine, cells);
  TRY(shares.Fill([&](std::size_t) { return KeptCell(engine); }));
  return Growth(before, cells);
}

Result<double> ParkedCellBytes(WasmEngine& engine, std::size_t cells) {
  TRY_ASSIGN(const std::uint64_t before, BytesAtRest(engine));
  Shares<NumberedRun> shares(engine, cells);
  TRY(shares.Fill([&](std::size_t number) { return StartNumbered(engine, number); }));
  TRY_ASSIGN(const double bytes, Growth(before, cells));
  TRY(shares.InRandomOrder([](NumberedRun& parked) { return AnswerNumbered(parked); }));
  return bytes;
}

}  // namespace caisson::bench
