// Concurrent runs: none delays, harms or outlives another, and nothing stays behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/sanitized.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

using IsolationTest = OnEachEngine;
INSTANTIATE_ON_BOTH_ENGINES(IsolationTest);

TEST_P(IsolationTest, ABusyRunDelaysNobody) {
  auto engine = StartEngine(GetParam());
  Guest hog = Guest::Open(*engine, "hog");
  const auto begin = Clock::now();
  hog.Start(
      {.code = "print('on')\nwhile True: pass", .limits = {.wall_time = 30s, .cpu_time = 30s}});
  hog.WaitForOutput("on");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(RunCode(*engine, "40 + 2").result, Value(42));
  // Far less than the hog's limit, however slow the machine is.
  EXPECT_LT(Clock::now() - begin, 15s);
  hog.Cancel();
  EXPECT_EQ(hog.End().status, RunStatus::kCancelled);
}

TEST_P(IsolationTest, BusyRunsShareTheWorkerFairly) {
  auto engine = StartEngine(GetParam());
  std::vector<Guest> guests;
  for (int i = 0; i < 8; ++i) {
    guests.push_back(Guest::Open(*engine, "owner " + std::to_string(i)));
    guests.back().Start({.code = "n = 0\nimport time\nend = time.monotonic() + 0.5\n"
                                 "while time.monotonic() < end: n += 1\nn"});
  }
  std::vector<std::int64_t> counts;
  for (Guest& guest : guests) {
    const Outcome outcome = guest.End();
    ASSERT_TRUE(outcome.result) << Ending(outcome);
    counts.push_back(*outcome.result->If<std::int64_t>());
  }
  EXPECT_LT(std::ranges::max(counts), 20 * std::ranges::min(counts) + 1000);
}

TEST_P(IsolationTest, ACancelledBusyLoopEndsAtOnce) {
  auto engine = StartEngine(GetParam());
  for (const char* code :
       {"print('on')\nwhile True: pass", "print('on')\nimport time; time.sleep(60)",
        "print('on')\nsum(range(10**11))"}) {
    Guest guest = Guest::Open(*engine);
    guest.Start({.code = code, .limits = {.wall_time = 60s, .cpu_time = 60s}});
    guest.WaitForOutput("on");
    const auto begin = Clock::now();
    guest.Cancel();
    const Outcome outcome = guest.End();
    EXPECT_EQ(outcome.status, RunStatus::kCancelled) << Ending(outcome);
    EXPECT_EQ(outcome.reason, RunReason::kKilled);
    EXPECT_LT(Clock::now() - begin, 10s);
  }
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

TEST_P(IsolationTest, ADestroyedCellStopsItsRun) {
  auto engine = StartEngine(GetParam());
  {
    Guest guest = Guest::Open(*engine);
    guest.Start({.code = "print('on')\nwhile True: pass"});
    guest.WaitForOutput("on");
  }
  EXPECT_EQ(RunCode(*engine, "1").result, Value(1));
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

// A native run lives in its process, so losing its fork server ends it as lost; a lost worker is a
// crash.
RunReason LostReason(EngineKind kind) {
  return kind == EngineKind::kWasm ? RunReason::kCrashed : RunReason::kLost;
}

// A thousand if a cell is memory, fewer if each is a process; and the memory that all may use
// together.
struct Crowd {
  std::size_t cells;
  std::uint64_t bytes;
};
Crowd CrowdFor(EngineKind kind) {
  if (kind == EngineKind::kWasm) return {.cells = 1000, .bytes = 500u << 20};
  // Forked cells share the interpreter; started ones share only its files.
  return {.cells = 60, .bytes = kind == EngineKind::kNative ? 120u << 20 : 720u << 20};
}

std::unique_ptr<Engine> StartForCrowd(EngineKind kind) {
  if (kind != EngineKind::kWasm) return StartEngine(kind);
  auto options = WasmOptions();
  options.verify_reset = false;  // It would touch all the memory that is counted here.
  options.cells_per_lane = 1100;
  return StartWasm(options);
}

TEST_P(IsolationTest, ManyParkedCellsAreAnsweredInRandomOrder) {
  const Crowd crowd = CrowdFor(GetParam());
  const Census before = TakeCensus();
  auto engine = StartForCrowd(GetParam());
  std::vector<Guest> guests;
  for (std::size_t i = 0; i < crowd.cells; ++i) {
    guests.push_back(Guest::Open(*engine));
    guests.back().Start({.code = "mine = " + std::to_string(i) + "\nmine * 1000 + tool(mine)",
                         .limits = {.wall_time = 200s},
                         .tools = {"tool"}});
  }
  std::vector<std::size_t> order;
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    calls.push_back(guests[i].NextCall());
    order.push_back(i);
  }
  std::uint64_t held = 0;
  for (pid_t process : TakeCensus().processes) held += ProportionalMemory(process).value_or(0);
  EXPECT_LE(held, crowd.bytes);
  RecordProperty("parked_bytes", std::to_string(held));

  std::ranges::shuffle(order, std::mt19937(7));
  for (std::size_t i : order) {
    ASSERT_EQ(calls[i].positional.items.at(0), Value(static_cast<std::int64_t>(i)));
    ASSERT_TRUE(guests[i].Answer(calls[i].seq, Value(static_cast<std::int64_t>(i % 7))));
  }
  for (std::size_t i = 0; i < guests.size(); ++i) {
    const Outcome outcome = guests[i].End();
    ASSERT_EQ(outcome.result, Value(static_cast<std::int64_t>(i * 1000 + i % 7)))
        << Ending(outcome);
  }
  EXPECT_EQ(engine->stats().workers_lost, 0u);
  guests.clear();
  engine.reset();
  EXPECT_EQ(TakeCensus(), before);
}

TEST_P(IsolationTest, AKilledWorkerCrashesItsRunsAndNoOthers) {
  auto engine = StartEngine(GetParam(), {.lanes = 2});
  const auto workers = TakeCensus().processes;
  // Three parked runs on each lane.
  std::vector<Guest> guests;
  for (int i = 0; i < 6; ++i) {
    guests.push_back(Guest::Open(*engine, "owner " + std::to_string(i)));
    guests.back().Start({.code = "print('here'); tool()", .tools = {"tool"}});
    guests.back().NextCall();
  }
  ASSERT_EQ(::kill(workers.front(), SIGKILL), 0);
  std::size_t crashed = 0;
  std::size_t fine = 0;
  for (int i = 0; i < 10000 && engine->stats().workers_started < 3; ++i) RunCode(*engine, "1");
  ASSERT_EQ(engine->stats().workers_lost, 1u);
  for (Guest& guest : guests) {
    if (guest.Answer(0, Value(1))) {
      const Outcome outcome = guest.End();
      EXPECT_EQ(outcome.result, Value(1)) << Ending(outcome);
      ++fine;
    } else {
      const Outcome outcome = guest.End();
      EXPECT_EQ(outcome.status, RunStatus::kFailed);
      EXPECT_EQ(outcome.reason, LostReason(GetParam())) << Ending(outcome);
      EXPECT_EQ(outcome.stdout_text, "here\n");
      ++crashed;
    }
  }
  EXPECT_EQ(fine, 3u);
  EXPECT_EQ(crashed, 3u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(RunCode(*engine, "2").result, Value(2));
}

TEST_P(IsolationTest, AWorkerKilledInTheMiddleOfComputingIsReplaced) {
  auto engine = StartEngine(GetParam());
  for (int i = 0; i < 3; ++i) {
    Guest guest = Guest::Open(*engine);
    guest.Start({.code = "print('on')\nwhile True: pass"});
    guest.WaitForOutput("on");
    for (pid_t worker : TakeCensus().processes) ::kill(worker, SIGKILL);
    const Outcome outcome = guest.End();
    EXPECT_EQ(outcome.reason, LostReason(GetParam())) << Ending(outcome);
    EXPECT_EQ(RunCode(*engine, "'next'").result, Value(std::string("next")));
  }
}

TEST_P(IsolationTest, AStoppedWorkerIsFoundOutAndReplaced) {
  auto engine = StartEngine(GetParam());
  Guest guest = Guest::Open(*engine);
  // Long enough for the census below, which has to come first.
  const auto wall_time = kIsSanitized ? 10s : 1s;
  guest.Start({.code = "print('on')\nwhile True: pass", .limits = {.wall_time = wall_time}});
  guest.WaitForOutput("on");
  for (pid_t worker : TakeCensus().processes) ::kill(worker, SIGSTOP);
  const Outcome outcome = guest.End();
  EXPECT_EQ(outcome.reason, LostReason(GetParam())) << Ending(outcome);
  EXPECT_EQ(RunCode(*engine, "3").result, Value(3));
}

TEST_P(IsolationTest, AnEngineLeavesNothing) {
  const Census before = TakeCensus();
  for (int i = 0; i < 3; ++i) {
    auto engine = StartEngine(GetParam(), {.lanes = 2});
    Guest busy = Guest::Open(*engine);
    busy.Start({.code = "print('on')\nwhile True: pass"});
    busy.WaitForOutput("on");
    Guest kept = Guest::Open(*engine);
    kept.Start({.code = "x = 1"}, AfterRun::kKeep);
    EXPECT_EQ(kept.End().status, RunStatus::kCompleted);
    EXPECT_EQ(RunCode(*engine, "1").result, Value(1));
  }
  EXPECT_EQ(TakeCensus(), before);
}

TEST_P(IsolationTest, ARestingEngineUsesNoProcessorTime) {
  auto engine = StartEngine(GetParam());
  EXPECT_EQ(RunCode(*engine, "1").result, Value(1));
  // The parked run's own timer ends this wait, not the test.
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  EXPECT_EQ(RunCode(*engine, "import time; time.sleep(1)").status, RunStatus::kCompleted);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const auto used = std::chrono::seconds(after.tv_sec - before.tv_sec) +
                    std::chrono::nanoseconds(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, 100ms);
}

}  // namespace
}  // namespace caisson::testing
