#include "engine/native/native_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/this_coro.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/native/testing/native_engine_fixture.h"
#include "jail/cgroup.h"

namespace caisson {
namespace {

using testing::AsBytes;
using testing::CellMessage;
using testing::FakeCell;
using testing::FakeForkServer;
using testing::ForkServerBehaviour;
using testing::Idleness;
using testing::MakeEngine;
using testing::OnLane;
using testing::Recorder;
using testing::RunOnce;
using testing::TryMakeEngine;
using wire::FromForkServer;
using wire::ToWorker;

// Starts do what `on_start` says; everything else is honest.
ForkServerBehaviour Cells(
    std::function<void(FakeForkServer&, FakeCell&, const CellMessage&)> on_message) {
  ForkServerBehaviour behaviour;
  behaviour.on_message = std::move(on_message);
  return behaviour;
}

std::size_t OpenDescriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

// One run of one behaviour.
Outcome RunWith(ForkServerBehaviour behaviour, Recorder& events, Limits limits = {}) {
  auto engine = MakeEngine(std::move(behaviour));
  Outcome outcome;
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto result = co_await RunOnce(*engine, "code", events, limits);
    EXPECT_TRUE(result) << result.error().message();
    if (result) outcome = *std::move(result);
  });
  return outcome;
}

TEST(NativeEngineTest, RunsCodeAndSaysWhatIsAroundIt) {
  Recorder events;
  const Outcome outcome = RunWith({.missing = "a wall\nanother"}, events);
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(*outcome.result, Value(std::string("code")));
  EXPECT_EQ(outcome.boundary.engine, "native");
  EXPECT_EQ(outcome.boundary.tier, "namespace");
  std::vector<std::string> missing{"a wall", "another"};
  if (!jail::Cgroup::Available()) missing.emplace_back("cgroup");
  EXPECT_EQ(outcome.boundary.missing, missing);
  EXPECT_EQ(outcome.usage.peak_memory_bytes, 1234u);
  EXPECT_GT(outcome.usage.wall.count(), 0);
}

TEST(NativeEngineTest, AnOutcomeComesOnlyWhenTheProcessTreeIsGone) {
  std::atomic<bool> told = false;
  ForkServerBehaviour behaviour;
  behaviour.on_gone = [&](FakeForkServer& fork_server, FakeCell&, const wire::CellGone& gone) {
    told = true;
    fork_server.Gone(gone);
  };
  auto engine = MakeEngine(behaviour);
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "1", events);
    EXPECT_TRUE(outcome);
    EXPECT_TRUE(told.load());
  });
}

TEST(NativeEngineTest, OutputStreamsInOrderWithCalls) {
  auto engine = MakeEngine(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
    if (message.kind == ToWorker::kStart) {
      cell.Print(cell.out, "before");
      return cell.Call(0, "f");
    }
    cell.Print(cell.err, "oops");
    cell.Print(cell.out, " after");
    cell.Return(std::int64_t{1});
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    events.on_call = [&](const ToolCall& call) {
      EXPECT_EQ(events.out, "before");
      EXPECT_TRUE((*cell)->Answer(call.seq, Value()));
    };
    auto outcome = co_await (*cell)->Run({.code = "x"}, events, AfterRun::kDiscard);
    EXPECT_EQ(events.out, "before after");
    EXPECT_EQ(outcome->stdout_text, "before after");
    EXPECT_EQ(outcome->stderr_text, "oops");
    EXPECT_EQ(outcome->calls.size(), 1u);
  });
}

TEST(NativeEngineTest, OutputBeyondItsCapIsDroppedAndTheRunGoesOn) {
  Recorder events;
  const Outcome outcome = RunWith(
      Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
        cell.Print(cell.out, std::string(3 << 20, 'x'));  // Blocks unless the host reads it.
        cell.Print(cell.err, std::string(100, 'e'));
        cell.Return(std::int64_t{1});
      }),
      events, {.stdout_bytes = 1000, .stderr_bytes = 100});
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(outcome.stdout_text, std::string(1000, 'x'));
  EXPECT_EQ(events.out, std::string(1000, 'x'));
  EXPECT_TRUE(outcome.stdout_truncated);
  EXPECT_EQ(outcome.stderr_text.size(), 100u);
  EXPECT_FALSE(outcome.stderr_truncated);
}

TEST(NativeEngineTest, CallsAreAnswered) {
  auto engine = MakeEngine(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
    if (message.kind == ToWorker::kStart) return cell.Call(0, "f");
    if (message.kind == ToWorker::kAnswer) {
      auto answer =
          DecodeValue(std::string_view(message.payload).substr(sizeof(wire::AnswerHeader)));
      cell.Return(answer->If<Tuple>()->items[2]);
    }
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    events.on_call = [&](const ToolCall& call) {
      EXPECT_TRUE((*cell)->Answer(call.seq, Value(std::int64_t{41})));
      EXPECT_FALSE((*cell)->Answer(call.seq, Value(std::int64_t{42})));
    };
    auto outcome = co_await (*cell)->Run({.code = "f()"}, events, AfterRun::kDiscard);
    EXPECT_EQ(*outcome->result, Value(std::int64_t{41}));
    EXPECT_EQ(outcome->calls[0].outcome, "returned");
  });
}

TEST(NativeEngineTest, LongMessagesGoThroughBothWays) {
  auto engine = MakeEngine({});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    const std::string code(1 << 20, '#');
    auto outcome =
        co_await RunOnce(*engine, code, events, {.code_bytes = 1u << 20, .result_bytes = 2u << 20});
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome->result, Value(code));
  });
}

TEST(NativeEngineTest, WallTimeEndsARunAndKeepsWhatItPrinted) {
  Recorder events;
  const Outcome outcome = RunWith(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
                                    cell.Print(cell.out, "partial");
                                  }),
                                  events, {.wall_time = std::chrono::milliseconds(20)});
  EXPECT_EQ(outcome.status, RunStatus::kLimit);
  EXPECT_EQ(outcome.reason, RunReason::kWallTime);
  EXPECT_EQ(outcome.stdout_text, "partial");
  EXPECT_GE(outcome.usage.wall, std::chrono::milliseconds(20));
}

TEST(NativeEngineTest, CpuTimeEndsARunLongBeforeItsWallTime) {
  Recorder events;
  ForkServerBehaviour behaviour = Cells([](FakeForkServer&, FakeCell&, const CellMessage&) {});
  behaviour.idleness = Idleness::kSpins;
  auto engine = MakeEngine(behaviour, {.spare_cells = 0});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto outcome = co_await RunOnce(
        *engine, "code", events,
        {.wall_time = std::chrono::seconds(50), .cpu_time = std::chrono::milliseconds(50)});
    EXPECT_EQ(outcome->status, RunStatus::kLimit);
    EXPECT_EQ(outcome->reason, RunReason::kCpuTime);
  });
}

struct Death {
  std::string name;
  int signal;
  RunStatus status;
  RunReason reason;
};
class DeathTest : public ::testing::TestWithParam<Death> {};

TEST_P(DeathTest, HasItsReason) {
  Recorder events;
  const int signal = GetParam().signal;
  const Outcome outcome =
      RunWith(Cells([signal](FakeForkServer&, FakeCell& cell, const CellMessage&) {
                cell.Print(cell.out, "last words");
                ::kill(cell.pid, signal);
              }),
              events);
  EXPECT_EQ(outcome.status, GetParam().status);
  EXPECT_EQ(outcome.reason, GetParam().reason);
  EXPECT_EQ(outcome.stdout_text, "last words");
}

const Death kDeaths[] = {
    {"Segfault", SIGSEGV, RunStatus::kFailed, RunReason::kCrashed},
    {"Abort", SIGABRT, RunStatus::kFailed, RunReason::kCrashed},
    {"DeniedSyscall", SIGSYS, RunStatus::kFailed, RunReason::kDeniedSyscall},
    {"CpuLimitOfTheKernel", SIGXCPU, RunStatus::kLimit, RunReason::kCpuTime},
    {"KilledFromOutside", SIGKILL, RunStatus::kFailed, RunReason::kKilled},
};
INSTANTIATE_TEST_SUITE_P(Signals, DeathTest, ::testing::ValuesIn(kDeaths),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(NativeEngineTest, AnExitWithoutReportIsOsExit) {
  for (const int status : {0, 3}) {
    ForkServerBehaviour behaviour = Cells(
        [](FakeForkServer&, FakeCell& cell, const CellMessage&) { ::kill(cell.pid, SIGKILL); });
    behaviour.on_gone = [status](FakeForkServer& fork_server, FakeCell&, wire::CellGone gone) {
      gone.signal = 0;
      gone.status = status;
      fork_server.Gone(gone);
    };
    Recorder events;
    const Outcome outcome = RunWith(behaviour, events);
    EXPECT_EQ(outcome.status, status == 0 ? RunStatus::kCompleted : RunStatus::kFailed);
    EXPECT_EQ(outcome.reason, status == 0 ? RunReason::kReturned : RunReason::kRaised);
  }
}

TEST(NativeEngineTest, MemoryRefusedAndRaisedIsTheMemoryLimit) {
  Recorder events;
  const Outcome outcome =
      RunWith(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
                Dict error;
                error.items.emplace_back(std::string("type"), std::string("MemoryError"));
                Dict report;
                report.items.emplace_back(std::string("end"), std::string("raised"));
                report.items.emplace_back(std::string("error"), error);
                cell.Done(report, wire::Ending::kReported, wire::kMemoryRefused);
              }),
              events);
  EXPECT_EQ(outcome.status, RunStatus::kLimit);
  EXPECT_EQ(outcome.reason, RunReason::kMemory);
}

TEST(NativeEngineTest, CancelEndsARunWithWhatItHad) {
  auto engine = MakeEngine(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
    if (message.kind != ToWorker::kStart) return;
    cell.Print(cell.out, "so far");
    cell.Call(0, "f");
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    events.on_call = [&](const ToolCall&) { (*cell)->Cancel(); };
    auto outcome = co_await (*cell)->Run({.code = "x"}, events, AfterRun::kDiscard);
    EXPECT_EQ(outcome->status, RunStatus::kCancelled);
    EXPECT_EQ(outcome->stdout_text, "so far");
    EXPECT_EQ(outcome->calls[0].outcome, "pending");
  });
}

TEST(NativeEngineTest, ASessionGoesOnInTheSameProcessAndIsCapturedAtItsEnd) {
  std::string directory = ::testing::TempDir() + "session-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directories(directory + "/output");
  std::ofstream(directory + "/output/a.txt") << "kept";
  // The session's cell; the pool's spare cells come and go.
  std::atomic<std::int64_t> of_interest = -1;
  std::atomic<int> gone = 0;
  ForkServerBehaviour behaviour =
      Cells([](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
        const bool keep = (message.Start().flags & wire::kKeepCell) != 0;
        cell.Return(static_cast<std::int64_t>(cell.number()), keep ? wire::kCellKept : 0);
      });
  behaviour.files = directory;
  behaviour.on_gone = [&](FakeForkServer& fork_server, FakeCell& cell, const wire::CellGone& news) {
    if (static_cast<std::int64_t>(cell.number()) == of_interest) ++gone;
    fork_server.Gone(news);
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 1});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    auto first = co_await (*cell)->Run({.code = "1"}, events, AfterRun::kKeep);
    of_interest = std::get<std::int64_t>(first->result->variant());
    auto second = co_await (*cell)->Run({.code = "2"}, events, AfterRun::kKeep);
    EXPECT_EQ(*first->result, *second->result);
    EXPECT_TRUE(second->files.empty());
    EXPECT_EQ(gone.load(), 0);
    auto last = co_await (*cell)->Run({.code = "3"}, events, AfterRun::kDiscard);
    EXPECT_EQ(*first->result, *last->result);
    EXPECT_EQ(gone.load(), 1);
    EXPECT_EQ(last->files.size(), 1u);
    EXPECT_EQ(last->files[0].contents, "kept");
    auto fresh = co_await (*cell)->Run({.code = "4"}, events, AfterRun::kDiscard);
    EXPECT_NE(*first->result, *fresh->result);
  });
  std::filesystem::remove_all(directory);
}

TEST(NativeEngineTest, ASessionThatIsLetGoOfIsKilled) {
  std::promise<void> gone;
  ForkServerBehaviour behaviour = Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
    cell.Return(std::int64_t{1}, wire::kCellKept);
  });
  behaviour.on_gone = [&](FakeForkServer& fork_server, FakeCell&, const wire::CellGone& news) {
    gone.set_value();
    fork_server.Gone(news);
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 0});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    auto outcome = co_await (*cell)->Run({.code = "1"}, events, AfterRun::kKeep);
    EXPECT_TRUE(outcome);
  });
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(NativeEngineTest, CellsOfAForkServerThatCannotCopyAreNotSaved) {
  auto engine = MakeEngine(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
    cell.Return(std::int64_t{1}, wire::kCellKept);
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    auto outcome = co_await (*cell)->Run({.code = "1"}, events, AfterRun::kKeep);
    EXPECT_TRUE(outcome);
    auto saved = co_await (*cell)->Save(AfterSave::kKeep);
    EXPECT_EQ(saved.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_TRUE((*cell)->holds_state());
    auto restored = co_await engine->Restore({.owner = OwnerId("a")}, {.bytes = "x"}, {});
    EXPECT_EQ(restored.error().code(), ErrorCode::kFailedPrecondition);
  });
}

TEST(NativeEngineTest, OtherVarietiesAreMadeWhenNeeded) {
  std::vector<std::uint32_t>
      processes;  // Written by the fork server's thread, read when it is gone.
  ForkServerBehaviour behaviour;
  behaviour.on_make = [&](FakeForkServer& fork_server, const wire::MakeCell& make) {
    processes.push_back(make.processes);
    fork_server.Make(make);
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 0});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    Limits limits;
    limits.processes = 8;
    auto outcome = co_await RunOnce(*engine, "x", events, limits);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
    outcome = co_await RunOnce(*engine, "y", events);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
  });
  engine.reset();
  EXPECT_THAT(processes, ::testing::ElementsAre(8, 1));
}

TEST(NativeEngineTest, SpareCellsAreWarmedUnlessRunsHaveUsedThemUp) {
  std::vector<wire::ToForkServer>
      kinds;  // Written by the fork server's thread, read when it is gone.
  std::promise<void> second_made;
  ForkServerBehaviour behaviour = Cells([](FakeForkServer&, FakeCell& cell, const CellMessage&) {
    cell.Return(std::int64_t{1}, wire::kCellKept);
  });
  behaviour.on_make = [&](FakeForkServer& fork_server, const wire::MakeCell& make) {
    kinds.push_back(make.kind);
    if (kinds.size() == 2) second_made.set_value();
    fork_server.Make(make);
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 1});
  std::unique_ptr<Cell> session;
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    session = *co_await engine->Open({.owner = OwnerId("a")});
    Recorder events;
    EXPECT_TRUE(co_await session->Run({.code = "1"}, events, AfterRun::kKeep));
  });
  EXPECT_EQ(second_made.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    session.reset();
    co_return;
  });
  engine.reset();
  ASSERT_GE(kinds.size(), 2U);
  EXPECT_EQ(kinds[0], wire::ToForkServer::kMake);
  EXPECT_EQ(kinds[1], wire::ToForkServer::kMakeNow);
}

TEST(NativeEngineTest, ACellThatCannotBeMadeIsAnErrorWithTheReason) {
  ForkServerBehaviour behaviour;
  behaviour.on_make = [](FakeForkServer& fork_server, const wire::MakeCell& make) {
    if (make.processes == 1) return static_cast<void>(fork_server.Make(make));
    fork_server.News(FromForkServer::kFailed, make.cell, "no more namespaces");
  };
  auto engine = MakeEngine(behaviour);
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    Limits limits;
    limits.processes = 2;
    auto outcome = co_await RunOnce(*engine, "x", events, limits);
    EXPECT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), ::testing::HasSubstr("no more namespaces"));
    outcome = co_await RunOnce(*engine, "y", events);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
  });
}

TEST(NativeEngineTest, ARunWhoseCellDiesInTheMakingGetsAnother) {
  int made = 0;  // Written by the fork server's thread, read when it is gone.
  ForkServerBehaviour behaviour;
  behaviour.on_make = [&](FakeForkServer& fork_server, const wire::MakeCell& make) {
    if (++made == 1) {
      const FakeCell& cell = fork_server.Bear(make);
      fork_server.News(FromForkServer::kBorn, make.cell, {}, {cell.pidfd.get()});
      ::kill(cell.pid, SIGKILL);
    } else {
      fork_server.Make(make);
    }
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 0});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome) << outcome.error().message();
    if (outcome) EXPECT_EQ(outcome->status, RunStatus::kCompleted);
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
  engine.reset();
  EXPECT_EQ(made, 2);
}

TEST(NativeEngineTest, AForkServerThatDiesTakesItsRunsAndIsReplaced) {
  auto engine =
      MakeEngine(Cells([](FakeForkServer& fork_server, FakeCell& cell, const CellMessage& message) {
        if (fork_server.number() == 0) return fork_server.Die();
        cell.Return(message.Code());
      }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->status, RunStatus::kFailed);
    EXPECT_EQ(outcome->reason, RunReason::kLost);
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 1u);
  EXPECT_EQ(engine->stats().workers_started, 2u);
}

TEST(NativeEngineTest, AForkServerThatIsNeverReadyIsRefusedWithItsReason) {
  auto dies = TryMakeEngine({.on_begin = [](FakeForkServer& fork_server) {
    fork_server.Die();
    return false;
  }});
  EXPECT_FALSE(dies);
  auto hangs = TryMakeEngine({.on_begin = [](FakeForkServer&) { return false; }},
                             {.ready_within = std::chrono::milliseconds(50)});
  EXPECT_THAT(hangs.error().message(), ::testing::HasSubstr("not ready in time"));
}

TEST(NativeEngineTest, ForkServersRotateWithoutLosingARun) {
  auto engine = MakeEngine({}, {.spare_cells = 1, .rotate_after_cells = 5});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    for (int i = 0; engine->stats().workers_started < 3; ++i) {
      auto outcome = co_await RunOnce(*engine, std::to_string(i), events);
      EXPECT_TRUE(outcome) << outcome.error().message();
      EXPECT_EQ(outcome->status, RunStatus::kCompleted);
    }
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

TEST(NativeEngineTest, TooManyWaitAreTurnedAwayAndWaitingIsFair) {
  auto engine = MakeEngine(Cells([](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
                             if (message.kind == ToWorker::kStart) cell.Call(0, "f");
                             if (message.kind == ToWorker::kAnswer) cell.Return(std::int64_t{1});
                           }),
                           {.cells_per_lane = 1, .max_waiting = 0});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await engine->Open({.owner = OwnerId("a")});
    EXPECT_TRUE(cell);
    auto second = co_await engine->Open({.owner = OwnerId("b")});
    EXPECT_EQ(second.error().code(), ErrorCode::kResourceExhausted);
  });
}

TEST(NativeEngineTest, NothingIsLeftBehind) {
  const std::size_t before = OpenDescriptors();
  {
    auto engine = MakeEngine({});
    OnLane(*engine, [&]() -> asio::awaitable<void> {
      Recorder events;
      for (int i = 0; i < 50; ++i) {
        auto outcome = co_await RunOnce(*engine, "x", events);
        EXPECT_TRUE(outcome);
      }
    });
    EXPECT_EQ(engine->stats().runs_ended, 50u);
    EXPECT_EQ(engine->stats().cells_live, 0u);
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace caisson
