#include "engine/wasm/wasm_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "base/spawn.h"
#include "engine/wasm/testing/wasm_engine_fixture.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using testing::MakeEngine;
using testing::OnLane;
using testing::Received;
using testing::Recorder;
using testing::RunOnce;
using testing::ThreadLauncher;
using testing::Worker;
using testing::WorkerEnd;
using testing::WorkerScript;
using wire::Ending;
using wire::ToHost;
using wire::ToWorker;

Outcome FirstOutcome(testing::FirstRun first, Limits limits = {}) {
  auto engine = MakeEngine(Worker(std::move(first)));
  Recorder events;
  Outcome result;
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto outcome = co_await RunOnce(*engine, "x", events, limits);
    EXPECT_TRUE(outcome) << outcome.error().message();
    if (outcome) result = *std::move(outcome);
  });
  return result;
}

Value Report(const std::string& end) {
  Dict report;
  report.items.emplace_back(std::string("end"), end);
  return report;
}

TEST(WasmEngineTest, RunsCodeAndReturnsItsResult) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready("cgroup memory\n");
    while (auto message = end.Receive()) {
      EXPECT_EQ(message->kind, ToWorker::kStart);
      end.Output(message->cell, 1, "hello ");
      end.Output(message->cell, 1, "world");
      end.Output(message->cell, 2, "oops");
      end.Return(message->cell, message->Code());
    }
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 100; ++i) {
      Recorder events;
      auto outcome = co_await RunOnce(*engine, "code" + std::to_string(i), events);
      EXPECT_TRUE(outcome);
      EXPECT_EQ(outcome->status, RunStatus::kCompleted);
      EXPECT_EQ(*outcome->result, Value("code" + std::to_string(i)));
      EXPECT_EQ(outcome->stdout_text, "hello world");
      EXPECT_EQ(events.out, "hello world");
      EXPECT_EQ(outcome->stderr_text, "oops");
      EXPECT_EQ(outcome->boundary.engine, "wasm");
      EXPECT_EQ(outcome->boundary.tier, "namespace");
      EXPECT_EQ(outcome->boundary.missing, std::vector<std::string>{"cgroup memory"});
      EXPECT_EQ(outcome->run_id.size(), 30u);
    }
  });
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.runs_started, 100u);
  EXPECT_EQ(stats.runs_ended, 100u);
  EXPECT_EQ(stats.cells_live, 0u);
  EXPECT_EQ(stats.workers_started, 1u);
}

TEST(WasmEngineTest, WorksFromAnExecutorThatIsNoLane) {
  // Declared before the engine: a lane may still be returning from its post() to it.
  asio::io_context context;
  auto engine = MakeEngine(Worker(
      [](WorkerEnd& end, const Received& start) { end.Return(start.cell, std::int64_t{1}); }));
  int ended = 0;
  Spawn(context.get_executor(), [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) {
      Recorder events;
      auto outcome = co_await RunOnce(*engine, "y", events);
      EXPECT_TRUE(outcome);
      EXPECT_TRUE(context.get_executor().running_in_this_thread());
      ++ended;
    }
  });
  context.run();
  EXPECT_EQ(ended, 10);
}

TEST(WasmEngineTest, ACellThatReadsNothingIsLimitedAloneAndDelaysNobody) {
  std::atomic<bool> reads = false;
  // The messages that the worker received, and the cell that read nothing.
  std::promise<std::pair<std::vector<std::pair<std::uint64_t, ToWorker>>, std::uint64_t>> seen;
  auto engine = MakeEngine([&](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    const auto start = end.Receive();
    if (!start) return {};
    const std::uint64_t hog = start->cell;
    std::vector<std::pair<std::uint64_t, ToWorker>> received;
    for (std::uint32_t seq = 0; seq < 3; ++seq) end.Call(hog, seq, "large");
    reads.wait(false);
    while (received.size() < 4) {
      const auto message = end.Receive();
      if (!message) return {};
      received.emplace_back(message->cell, message->kind);
      if (message->kind == ToWorker::kStart) end.Return(message->cell, message->Code());
    }
    seen.set_value({std::move(received), hog});
    end.Return(hog, Value(true));
    end.Receive();
    return {};
  });
  Recorder events;
  Recorder other_events;
  std::promise<Result<Outcome>> other;
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    const auto lane = engine->lane_executor(0);
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    events.on_call = [&](const ToolCall& call) {
      const Value large(std::string(7u << 20, 'x'));
      const auto answered = cell->Answer(call.seq, large);
      if (call.seq < 2) {
        EXPECT_TRUE(answered) << answered.error().message();
        return;
      }
      ASSERT_FALSE(answered);
      EXPECT_EQ(answered.error().code(), ErrorCode::kResourceExhausted);
      EXPECT_THAT(answered.error().message(), HasSubstr("16777216 bytes"));
      EXPECT_TRUE(cell->Answer(call.seq, ToolRaised{"LimitError", "too much"}));
      Spawn(lane, [&]() -> asio::awaitable<void> {
        other.set_value(co_await RunOnce(*engine, "other", other_events));
      });
      asio::post(lane, [&] {
        reads = true;
        reads.notify_all();
      });
    };
    auto outcome = co_await cell->Run({.code = "x"}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome && outcome->status == RunStatus::kCompleted);
  });
  const auto outcome = other.get_future().get();
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(*outcome->result, Value("other"));
  const auto [received, hog] = seen.get_future().get();
  ASSERT_EQ(received.size(), 4u);
  EXPECT_EQ(received[0], std::pair(hog, ToWorker::kAnswer));
  EXPECT_EQ(received[1].second, ToWorker::kStart);  // Before what else waits for the first cell.
  EXPECT_EQ(received[2], std::pair(hog, ToWorker::kAnswer));
  EXPECT_EQ(received[3], std::pair(hog, ToWorker::kAnswer));
}

TEST(WasmEngineTest, CarriesCallsAndAnswers) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    auto start = end.Receive();
    if (!start) return {};
    Dict keywords;
    keywords.items.emplace_back(std::string("a"), std::int64_t{20});
    end.Call(start->cell, 0, "add", keywords);
    end.Call(start->cell, 1, "fail");
    end.Call(start->cell, 2, "gated");
    Dict answers;
    for (int i = 0; i < 3; ++i) {
      auto answer = end.Receive();
      if (!answer) return {};
      EXPECT_EQ(answer->kind, ToWorker::kAnswer);
      const auto header = answer->Header<wire::AnswerHeader>();
      answers.items.emplace_back(
          std::int64_t{header.seq},
          *DecodeValue(std::string_view(answer->payload).substr(sizeof header)));
    }
    end.Return(start->cell, answers);
    end.Receive();
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    events.on_call = [&](const ToolCall& call) {
      if (call.tool == "add") {
        EXPECT_TRUE(cell->Answer(0, Value(std::int64_t{42})));
        EXPECT_FALSE(cell->Answer(0, Value(std::int64_t{42})));  // Answered before.
        EXPECT_FALSE(cell->Answer(7, Value()));                  // Never requested.
      } else if (call.tool == "fail") {
        EXPECT_TRUE(cell->Answer(1, ToolRaised{"ValueError", "bad"}));
      } else {
        EXPECT_TRUE(cell->Answer(2, ToolDenied{"no"}));
      }
    };
    auto outcome = co_await cell->Run({.code = "x", .tools = {"add", "fail", "gated"}}, events,
                                      AfterRun::kDiscard);
    EXPECT_TRUE(outcome);
    const Dict& answers = *outcome->result->If<Dict>();
    const auto tuple = [](std::int64_t seq, std::int64_t how, Value value) {
      return Value(Tuple{{Value(seq), Value(how), std::move(value)}});
    };
    EXPECT_EQ(answers.items[0].second, tuple(0, 0, std::int64_t{42}));
    EXPECT_EQ(answers.items[1].second,
              tuple(1, 1, Tuple{{Value(std::string("ValueError")), Value(std::string("bad"))}}));
    EXPECT_EQ(answers.items[2].second, tuple(2, 2, std::string("no")));
    EXPECT_EQ(outcome->calls.size(), 3u);
    EXPECT_EQ(outcome->calls[0].tool, "add");
    EXPECT_EQ(outcome->calls[0].outcome, "returned");
    EXPECT_EQ(outcome->calls[1].outcome, "raised");
    EXPECT_EQ(outcome->calls[2].outcome, "denied");
  });
}

TEST(WasmEngineTest, CarriesMessagesLargerThanTheRing) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    while (auto start = end.Receive()) {
      const auto header = start->Header<wire::StartHeader>();
      auto files = DecodeValue(
          std::string_view(start->payload).substr(sizeof header + header.request_length));
      const Tuple& file = *files->If<List>()->items[0].If<Tuple>();
      const std::string& contents = file.items[1].If<Bytes>()->data;
      wire::FileHeader out{};
      const std::string path = "/output/copy";
      out.path_length = static_cast<std::uint32_t>(path.size());
      out.size = contents.size();
      end.Send(ToHost::kFile, start->cell, testing::AsBytes(out) + path + contents);
      end.Return(start->cell, *file.items[0].If<std::string>());
    }
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    std::string big(4'500'000, 'x');
    for (std::size_t i = 0; i < big.size(); i += 97) big[i] = static_cast<char>(i);
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    RunRequest request{.code = "x"};
    request.files.push_back({"/input/a", std::make_shared<const std::string>(big)});
    auto outcome = co_await cell->Run(std::move(request), events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome->result, Value(std::string("/input/a")));
    EXPECT_EQ(outcome->files.size(), 1u);
    EXPECT_EQ(outcome->files[0].path, "/output/copy");
    EXPECT_TRUE(outcome->files[0].contents == big);
  });
}

TEST(WasmEngineTest, KeepsASessionBetweenRuns) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    std::uint64_t first = 0;
    while (auto message = end.Receive()) {
      const bool keep = (message->Header<wire::StartHeader>().flags & wire::kKeepCell) != 0;
      const bool again = message->kind == ToWorker::kAgain;
      if (again) EXPECT_EQ(message->cell, first);
      first = message->cell;
      end.Return(message->cell, std::string(again ? "again" : "start"), keep ? wire::kCellKept : 0);
    }
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    const std::string expected[] = {"start", "again", "again", "start"};
    const AfterRun after[] = {AfterRun::kKeep, AfterRun::kKeep, AfterRun::kDiscard,
                              AfterRun::kDiscard};
    for (int i = 0; i < 4; ++i) {
      auto outcome = co_await cell->Run({.code = "x"}, events, after[i]);
      EXPECT_TRUE(outcome);
      EXPECT_EQ(*outcome->result, Value(expected[i]));
    }
  });
}

TEST(WasmEngineTest, RefusesWhatIsBeyondTheCeiling) {
  auto engine = MakeEngine(Worker({}));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    auto outcome = co_await cell->Run({.code = "x", .limits = {.wall_time = std::chrono::hours(1)}},
                                      events, AfterRun::kDiscard);
    EXPECT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("wall_seconds"));
    outcome = co_await cell->Run({.code = std::string(70'000, ' ')}, events, AfterRun::kDiscard);
    EXPECT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("code_bytes"));
  });
}

// --- Endings.

TEST(WasmEngineTest, MapsEveryEndingToItsOutcome) {
  struct Case {
    Ending ending;
    std::uint32_t detail;
    RunStatus status;
    RunReason reason;
    std::string error;
  };
  const Case cases[] = {
      {Ending::kTrap, 3, RunStatus::kFailed, RunReason::kCrashed, "StackOverflow"},
      {Ending::kTrap, 4, RunStatus::kFailed, RunReason::kCrashed, "Abort"},
      {Ending::kTrap, 99, RunStatus::kFailed, RunReason::kCrashed, "Crash"},
      {Ending::kWallTime, 0, RunStatus::kLimit, RunReason::kWallTime, ""},
      {Ending::kCpuTime, 0, RunStatus::kLimit, RunReason::kCpuTime, ""},
      {Ending::kCancelled, 0, RunStatus::kCancelled, RunReason::kKilled, ""},
      {Ending::kExit, 0, RunStatus::kCompleted, RunReason::kReturned, ""},
      {Ending::kExit, 3, RunStatus::kFailed, RunReason::kRaised, "SystemExit"},
      {Ending::kResultTooBig, 0, RunStatus::kLimit, RunReason::kResult, ""},
      {Ending::kToolCalls, 0, RunStatus::kLimit, RunReason::kToolCalls, ""},
      {Ending::kMemory, 0, RunStatus::kLimit, RunReason::kMemory, ""},
  };
  for (const Case& c : cases) {
    const Outcome outcome = FirstOutcome([&](WorkerEnd& end, const Received& start) {
      end.Output(start.cell, 1, "partial");
      end.Done(start.cell, Value(), c.ending, wire::kStdoutTruncated, c.detail);
    });
    EXPECT_EQ(outcome.status, c.status);
    EXPECT_EQ(outcome.reason, c.reason);
    EXPECT_EQ(outcome.error ? outcome.error->type : "", c.error);
    EXPECT_EQ(outcome.stdout_text, "partial");
    EXPECT_TRUE(outcome.stdout_truncated);
  }
}

TEST(WasmEngineTest, MapsReports) {
  Dict error;
  error.items.emplace_back(std::string("type"), std::string("MemoryError"));
  error.items.emplace_back(std::string("line"), std::int64_t{3});
  Dict raised = *Report("raised").If<Dict>();
  raised.items.emplace_back(std::string("error"), error);

  Outcome outcome =
      FirstOutcome([&](WorkerEnd& end, const Received& start) { end.Done(start.cell, raised); });
  EXPECT_EQ(outcome.reason, RunReason::kRaised);
  EXPECT_EQ(outcome.error->line, 3);

  outcome = FirstOutcome([&](WorkerEnd& end, const Received& start) {
    end.Done(start.cell, raised, Ending::kReported, wire::kMemoryRefused);
  });
  EXPECT_EQ(outcome.status, RunStatus::kLimit);
  EXPECT_EQ(outcome.reason, RunReason::kMemory);

  outcome = FirstOutcome(
      [&](WorkerEnd& end, const Received& start) { end.Done(start.cell, Report("rejected")); });
  EXPECT_EQ(outcome.status, RunStatus::kRejected);
  EXPECT_EQ(outcome.reason, RunReason::kPolicy);

  outcome = FirstOutcome(
      [&](WorkerEnd& end, const Received& start) { end.Done(start.cell, Report("exited")); });
  EXPECT_EQ(outcome.error->type, "SystemExit");

  outcome = FirstOutcome([&](WorkerEnd& end, const Received& start) {
    end.Done(start.cell, Report("result_too_large"));
  });
  EXPECT_EQ(outcome.reason, RunReason::kResult);
}

TEST(WasmEngineTest, ARefusedStartIsAnError) {
  auto engine = MakeEngine(Worker([](WorkerEnd& end, const Received& start) {
    end.Send(ToHost::kRefused, start.cell, "no memory for a cell");
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::kResourceExhausted);
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

// --- Invalid data of a guest: ends its own run and no other.

TEST(WasmEngineTest, AnUndecodableReportEndsOnlyItsRun) {
  auto engine = MakeEngine(Worker([](WorkerEnd& end, const Received& start) {
    wire::DoneHeader header{};
    end.Send(ToHost::kDone, start.cell, testing::AsBytes(header) + "\xff\xff garbage");
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, RunReason::kCrashed);
    EXPECT_EQ(outcome->error->type, "ProtocolError");
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

TEST(WasmEngineTest, AnUndecodableCallEndsOnlyItsRun) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    auto start = end.Receive();
    if (!start) return {};
    const wire::CallHeader header{.seq = 0, .trace_length = 0};
    end.Send(ToHost::kCall, start->cell, testing::AsBytes(header) + "\xff");
    auto cancel = end.Receive();
    if (!cancel) return {};
    EXPECT_EQ(cancel->kind, ToWorker::kCancel);
    end.Done(start->cell, Value(), Ending::kCancelled);
    end.Receive();
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->status, RunStatus::kFailed);
    EXPECT_EQ(outcome->error->type, "ProtocolError");
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

// --- Death.

TEST(WasmEngineTest, AWorkersDeathEndsItsRunsAndNobodyElses) {
  auto engine = MakeEngine([](WorkerEnd& end, int number) -> WorkerExit {
    end.Ready();
    while (auto message = end.Receive()) {
      if (message->kind != ToWorker::kStart) continue;
      end.Output(message->cell, 1, "before");
      if (number == 0) return {.signal = 31, .denied_syscall = true};
      end.Return(message->cell, message->Code());
    }
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->status, RunStatus::kFailed);
    EXPECT_EQ(outcome->reason, RunReason::kDeniedSyscall);
    EXPECT_EQ(outcome->stdout_text, "before");
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
}

TEST(WasmEngineTest, MessagesSentBeforeDeathCount) {
  const Outcome outcome = [] {
    auto engine = MakeEngine([](WorkerEnd& end, int number) -> WorkerExit {
      end.Ready();
      while (auto message = end.Receive()) {
        end.Return(message->cell, message->Code());
        if (number == 0) return {.status = 1};
      }
      return {};
    });
    Recorder events;
    Outcome result;
    OnLane(*engine,
           [&]() -> asio::awaitable<void> { result = *co_await RunOnce(*engine, "x", events); });
    return result;
  }();
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
}

TEST(WasmEngineTest, CreateSaysWhyNoWorkerStarts) {
  auto engine = WasmEngine::Create(
      {.lanes = 2, .pin = false}, std::make_unique<ThreadLauncher>(
                                      [](WorkerEnd&, int) -> WorkerExit { return {.status = 7}; }));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(engine.error().message(), HasSubstr("status 7"));
}

TEST(WasmEngineTest, AHangingWorkerIsKilled) {
  auto engine = MakeEngine(Worker([](WorkerEnd& end, const Received&) {
    while (!end.killed()) std::this_thread::yield();
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome =
        co_await RunOnce(*engine, "x", events, {.wall_time = std::chrono::milliseconds(50)});
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, RunReason::kCrashed);
    EXPECT_THAT(outcome->error->message, HasSubstr("hangs"));
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
}

// --- Cancelling.

WorkerScript CancellableWorker() {
  return [](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    while (auto message = end.Receive()) {
      if (message->kind == ToWorker::kStart) {
        if (message->Code() == "loop") continue;
        end.Return(message->cell, message->Code());
      } else if (message->kind == ToWorker::kCancel) {
        end.Done(message->cell, Value(), Ending::kCancelled);
      }
    }
    return {};
  };
}

TEST(WasmEngineTest, CancelFromAnotherThreadEndsTheRun) {
  auto engine = MakeEngine(CancellableWorker());
  std::promise<Cell*> running;
  std::thread canceller([cell = running.get_future()]() mutable {
    Cell* target = cell.get();
    target->Cancel();
    target->Cancel();
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    asio::post(cell->executor(), [&] { running.set_value(cell.get()); });
    auto outcome = co_await cell->Run({.code = "loop"}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->status, RunStatus::kCancelled);
    EXPECT_EQ(outcome->reason, RunReason::kKilled);
    canceller.join();
    auto next = co_await cell->Run({.code = "next"}, events, AfterRun::kDiscard);
    EXPECT_EQ(*next->result, Value(std::string("next")));
  });
}

TEST(WasmEngineTest, DestroyingACellCancelsItsRunAndGivesThePlaceBack) {
  auto engine = MakeEngine(CancellableWorker(), {.cells_per_lane = 1});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open({.owner = OwnerId("a")});
    auto executor = co_await asio::this_coro::executor;
    Spawn(executor, [](Cell* target, RunEvents& sink) -> asio::awaitable<void> {
      (void)co_await target->Run({.code = "loop"}, sink, AfterRun::kDiscard);
      ADD_FAILURE() << "the run of a cell that is gone has no end";
    }(cell.get(), events));
    co_await asio::post(executor, asio::use_awaitable);
    EXPECT_EQ(engine->stats().cells_live, 1u);
    cell.reset();
    auto outcome = co_await RunOnce(*engine, "next", events);  // Waits for the place.
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().cells_live, 0u);
}

// --- Waiting.

TEST(WasmEngineTest, WaitingHasADeadline) {
  auto engine = MakeEngine(CancellableWorker(), {.cells_per_lane = 1, .max_waiting = 1});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto holder = *co_await engine->Open({.owner = OwnerId("a")});
    auto late =
        co_await engine->Open({.owner = OwnerId("b"), .wait = std::chrono::milliseconds(1)});
    EXPECT_FALSE(late);
    EXPECT_EQ(late.error().code(), ErrorCode::kDeadlineExceeded);
    EXPECT_EQ(engine->stats().waiting, 0u);
  });
}

// --- Saving.

WorkerScript SavingWorker() {
  return [](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    while (auto message = end.Receive()) {
      switch (message->kind) {
        case ToWorker::kStart:
          end.Output(message->cell, 1, "a");
          end.Call(message->cell, 0, "gated");
          break;
        case ToWorker::kSave:
          end.Send(ToHost::kSaved, message->cell, std::string(200'000, 'b'));
          break;
        case ToWorker::kRestore: {
          const std::uint32_t open = 0;
          const bool good = message->payload.size() == sizeof(wire::StartHeader) + 200'000;
          end.Send(good ? ToHost::kRestored : ToHost::kRefused, message->cell,
                   good ? testing::AsBytes(open) : "saved by another build");
          break;
        }
        case ToWorker::kAnswer:
          end.Call(message->cell, 5, "later");
          end.Output(message->cell, 1, "b");
          end.Return(message->cell, std::string("resumed"), wire::kCellKept);
          break;
        case ToWorker::kCancel:
        case ToWorker::kAgain:
        case ToWorker::kFileAnswer:
          break;
      }
    }
    return {};
  };
}

TEST(WasmEngineTest, SavesAParkedCellAndRestoresItInAWorkerOfItsOwner) {
  auto engine = MakeEngine(SavingWorker());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    SavedCell saved;
    {
      auto cell = *co_await engine->Open({.owner = OwnerId("a")});
      auto executor = co_await asio::this_coro::executor;
      events.on_call = [&](const ToolCall&) {
        Spawn(executor, [](Cell* target, SavedCell& out) -> asio::awaitable<void> {
          auto result = co_await target->Save(AfterSave::kDiscard);
          EXPECT_TRUE(result) << result.error().message();
          if (result) out = *std::move(result);
        }(cell.get(), saved));
      };
      auto outcome = co_await cell->Run({.code = "x"}, events, AfterRun::kDiscard);
      EXPECT_TRUE(outcome);
      EXPECT_EQ(outcome->status, RunStatus::kWaiting);
      EXPECT_EQ(outcome->reason, RunReason::kApproval);
      EXPECT_EQ(outcome->stdout_text, "a");
      EXPECT_EQ(outcome->calls.at(0).outcome, "pending");
    }
    EXPECT_EQ(saved.bytes, std::string(200'000, 'b'));
    for (int branch = 0; branch < 2; ++branch) {
      Recorder later;
      auto cell = co_await engine->Restore({.owner = OwnerId("a")}, saved, Limits{});
      EXPECT_TRUE(cell) << cell.error().message();
      EXPECT_TRUE((*cell)->Answer(0, Value(true)));
      EXPECT_FALSE((*cell)->Answer(0, Value(true)));
      auto outcome = co_await (*cell)->Continue(later, AfterRun::kDiscard);
      EXPECT_TRUE(outcome) << outcome.error().message();
      EXPECT_EQ(*outcome->result, Value(std::string("resumed")));
      EXPECT_EQ(later.out, "b");
      EXPECT_EQ(later.calls.at(0).seq, 5u);
    }
    EXPECT_EQ(engine->stats().workers_started, 2u);
    auto other = co_await engine->Restore({.owner = OwnerId("b")}, saved, Limits{});
    EXPECT_TRUE(other);
    EXPECT_EQ(engine->stats().workers_started, 3u);  // Never a worker of another owner (I8).
    auto bad = co_await engine->Restore({.owner = OwnerId("b")}, {"short"}, Limits{});
    EXPECT_FALSE(bad);
    EXPECT_THAT(bad.error().message(), HasSubstr("another build"));
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

// Unlike an unavailable worker: retrying could crash the next one.
TEST(WasmEngineTest, ARestoreThatTakesItsWorkerDownIsToldApart) {
  auto engine = MakeEngine([](WorkerEnd& end, int) -> WorkerExit {
    end.Ready();
    while (auto message = end.Receive()) {
      if (message->kind == ToWorker::kRestore) break;
    }
    return {};
  });
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Restore({.owner = OwnerId("a")}, {"bytes"}, Limits{});
    EXPECT_FALSE(cell);
    EXPECT_EQ(cell.error().code(), ErrorCode::kInternal);
  });
  EXPECT_EQ(engine->stats().cells_live, 0u);
}

TEST(WasmEngineTest, AWorkerOfAnotherBuildIsNotUsed) {
  auto engine = WasmEngine::Create({.lanes = 2, .pin = false},
                                   std::make_unique<ThreadLauncher>([](WorkerEnd& end, int number) {
                                     end.Ready({}, static_cast<std::uint8_t>(number));
                                     end.Receive();
                                     return WorkerExit{};
                                   }));
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message(), HasSubstr("another build"));
}

}  // namespace
}  // namespace caisson
