// Every lie a worker can tell ends that worker, and only that worker (I9).
#include <gtest/gtest.h>

#include "engine/wasm/testing/wasm_engine_fixture.h"

namespace caisson {
namespace {

using testing::AsBytes;
using testing::FirstRun;
using testing::MakeEngine;
using testing::OnLane;
using testing::Received;
using testing::Recorder;
using testing::RunOnce;
using testing::Worker;
using testing::WorkerEnd;
using wire::Ending;
using wire::ToHost;

struct Lie {
  std::string name;
  FirstRun tell;
};

class LyingWorkerTest : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingWorkerTest, IsKilledAndReplaced) {
  auto engine = MakeEngine(Worker(GetParam().tell));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->status, RunStatus::kFailed);
    EXPECT_EQ(outcome->reason, RunReason::kCrashed);
    EXPECT_EQ(outcome->error->type, "WorkerLost");
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.workers_lost, 1u);
  EXPECT_EQ(stats.workers_started, 2u);
}

const Lie kLies[] = {
    {"UnknownKind",
     [](WorkerEnd& end, const Received& start) { end.SendFrame(99, 0, start.cell, "x"); }},
    {"KindZero",
     [](WorkerEnd& end, const Received& start) { end.SendFrame(0, 0, start.cell, "x"); }},
    {"UnknownFlags",
     [](WorkerEnd& end, const Received& start) { end.SendFrame(2, 6, start.cell, "\x01x"); }},
    {"UnknownCell",
     [](WorkerEnd& end, const Received& start) { end.Output(start.cell + 1, 1, "x"); }},
    {"OutputLongerThanAnyCap",
     [](WorkerEnd& end, const Received& start) {
       end.Output(start.cell, 1, std::string(65 << 10, 'x'));
     }},
    {"SecondReady", [](WorkerEnd& end, const Received&) { end.Ready(); }},
    {"WrongCallNumber",
     [](WorkerEnd& end, const Received& start) { end.Call(start.cell, 1, "f"); }},
    {"RepeatedCallNumber",
     [](WorkerEnd& end, const Received& start) {
       end.Call(start.cell, 0, "f");
       end.Call(start.cell, 0, "f");
     }},
    {"TooManyCalls",
     [](WorkerEnd& end, const Received& start) {
       for (std::uint32_t i = 0; i <= 1000 && !end.killed(); ++i) end.Call(start.cell, i, "f");
     }},
    {"ShortCall",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kCall, start.cell, "abc"); }},
    {"OutputBeyondItsCap",
     [](WorkerEnd& end, const Received& start) {
       for (int i = 0; i < 3; ++i) end.Output(start.cell, 2, std::string(30'000, 'x'));
     }},
    {"OutputOnNoStream",
     [](WorkerEnd& end, const Received& start) { end.Output(start.cell, 3, "x"); }},
    {"EmptyOutput",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kOutput, start.cell, ""); }},
    {"ShortEnd",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kDone, start.cell, "x"); }},
    {"UnknownEnding",
     [](WorkerEnd& end, const Received& start) {
       end.Done(start.cell, Value(), static_cast<Ending>(77));
     }},
    {"CellKeptUnasked",
     [](WorkerEnd& end, const Received& start) {
       end.Return(start.cell, std::int64_t{1}, wire::kCellKept);
     }},
    {"ReportWithoutEnd",
     [](WorkerEnd& end, const Received& start) {
       const std::string part(60'000, 'x');
       for (int i = 0; i < 40 && !end.killed(); ++i) {
         end.SendFrame(std::to_underlying(ToHost::kDone), wire::kMoreFollows, start.cell, part);
       }
     }},
    {"MixedMessages",
     [](WorkerEnd& end, const Received& start) {
       end.SendFrame(std::to_underlying(ToHost::kOutput), wire::kMoreFollows, start.cell, "\x01x");
       end.Return(start.cell, std::int64_t{1});
     }},
    {"SavedUnasked",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kSaved, start.cell, "blob"); }},
    {"TraceOfARunThatIsNotRecorded",
     [](WorkerEnd& end, const Received& start) {
       const wire::CallHeader header{.seq = 0, .trace_length = 1};
       end.Send(ToHost::kCall, start.cell, AsBytes(header) + "x");
     }},
    {"TraceLongerThanItsCall",
     [](WorkerEnd& end, const Received& start) {
       const wire::CallHeader header{.seq = 0, .trace_length = UINT32_MAX};
       end.Send(ToHost::kCall, start.cell, AsBytes(header));
     }},
    {"SleepOfARunThatIsNotRecorded",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kSleep, start.cell, AsBytes(wire::SleepHeader{.wake_ns = 1}));
     }},
    {"TailUnasked",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kTail, start.cell, AsBytes(wire::TailHeader{.wake_ns = 1}));
     }},
    {"RestoredUnasked",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kRestored, start.cell, ""); }},
    {"RefusedLate",
     [](WorkerEnd& end, const Received& start) {
       end.Output(start.cell, 1, "x");
       end.Send(ToHost::kRefused, start.cell, "no");
     }},
    {"FileOfAnotherSize",
     [](WorkerEnd& end, const Received& start) {
       wire::FileHeader header{};
       header.path_length = 1;
       header.size = 100;
       end.Send(ToHost::kFile, start.cell, AsBytes(header) + "p" + "contents");
     }},
    {"FilePathBeyondItsMessage",
     [](WorkerEnd& end, const Received& start) {
       wire::FileHeader header{};
       header.path_length = 4000;
       end.Send(ToHost::kFile, start.cell, AsBytes(header) + "p");
     }},
    {"TooManyFiles",
     [](WorkerEnd& end, const Received& start) {
       wire::FileHeader header{};
       header.path_length = 1;
       for (int i = 0; i <= 100 && !end.killed(); ++i) {
         end.Send(ToHost::kFile, start.cell, AsBytes(header) + "p");
       }
     }},
    {"FileRequestWithoutMounts",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kFileList, start.cell,
                AsBytes(wire::FileListHeader{.number = 1, .mount = 0}));
     }},
    {"ChangeWithoutMounts",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kChange, start.cell, AsBytes(wire::ChangeHeader{}));
     }},
    {"ImpossiblePosition",
     [](WorkerEnd& end, const Received&) {
       end.to_host().tail.fetch_add(wire::kRingBytes + 8);
       end.Notify();
     }},
    {"ReaderAheadOfWriter",
     [](WorkerEnd& end, const Received& start) {
       end.to_worker().head.fetch_add(4096);
       end.Call(start.cell, 0, "f");
       end.to_host().tail.fetch_add(3);  // The next frame from the host, or this, reveals the lie.
       end.Notify();
     }},
};

INSTANTIATE_TEST_SUITE_P(Lies, LyingWorkerTest, ::testing::ValuesIn(kLies),
                         [](const auto& param_info) { return param_info.param.name; });

// Lies about the host's files, from the worker of a cell that has some.
class HeldFiles final : public HostFiles {
 public:
  std::span<const MountPoint> mounts() const override { return mounts_; }
  void List(std::uint32_t, std::string, Done<std::vector<HostEntry>>) override {}
  void Read(std::uint32_t, HostRange, Done<std::string>) override {}
  void Settle(std::vector<HostChange>, Outcome outcome, SettleDone done) override {
    done(std::move(outcome));
  }

 private:
  const std::vector<MountPoint> mounts_ = {{.guest_path = "/ro"},
                                           {.guest_path = "/overlay", .mode = MountMode::kOverlay}};
};

wire::ChangeHeader Change(std::uint32_t mount, std::uint32_t path_length) {
  wire::ChangeHeader header{};
  header.mount = mount;
  header.file.path_length = path_length;
  return header;
}

class LyingAboutFilesTest : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingAboutFilesTest, IsKilledAndReplaced) {
  auto engine = MakeEngine(Worker(GetParam().tell));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto cell = *co_await engine->Open(
        {.owner = OwnerId("a"), .host_files = std::make_shared<HeldFiles>()});
    auto outcome = co_await cell->Run({.code = "x"}, events, AfterRun::kDiscard);
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->error->type, "WorkerLost");
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 1u);
}

const Lie kFileLies[] = {
    {"UnknownMount",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kFileList, start.cell,
                AsBytes(wire::FileListHeader{.number = 1, .mount = 2}));
     }},
    {"ShortRequest",
     [](WorkerEnd& end, const Received& start) { end.Send(ToHost::kFileRead, start.cell, "x"); }},
    {"TwoRequestsAtOnce",
     [](WorkerEnd& end, const Received& start) {
       const std::string request = AsBytes(wire::FileListHeader{.number = 1, .mount = 0});
       end.Send(ToHost::kFileList, start.cell, request);
       end.Send(ToHost::kFileList, start.cell, request);
     }},
    {"ReadsTooMuch",
     [](WorkerEnd& end, const Received& start) {
       wire::FileReadHeader header{};
       header.length = wire::kMaxReadBytes + 1;
       end.Send(ToHost::kFileRead, start.cell, AsBytes(header) + "p");
     }},
    {"PathTooLong",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kFileRead, start.cell,
                AsBytes(wire::FileReadHeader{}) + std::string(5000, 'p'));
     }},
    {"ChangeBelowAReadOnlyMount",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kChange, start.cell, AsBytes(Change(0, 1)) + "p");
     }},
    {"ChangePathBeyondItsMessage",
     [](WorkerEnd& end, const Received& start) {
       end.Send(ToHost::kChange, start.cell, AsBytes(Change(1, 100)) + "p");
     }},
    {"DirectoryWithContents",
     [](WorkerEnd& end, const Received& start) {
       wire::ChangeHeader header = Change(1, 1);
       header.directory = 1;
       end.Send(ToHost::kChange, start.cell, AsBytes(header) + "pcontents");
     }},
    {"TooManyDirectories",
     [](WorkerEnd& end, const Received& start) {
       wire::ChangeHeader header = Change(1, 1);
       header.directory = 1;
       for (int i = 0; i <= 4 * 100 + 1024 && !end.killed(); ++i) {
         end.Send(ToHost::kChange, start.cell, AsBytes(header) + "p");
       }
     }},
};

INSTANTIATE_TEST_SUITE_P(Lies, LyingAboutFilesTest, ::testing::ValuesIn(kFileLies),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(LateWorkerTest, AFrameAfterTheEndKillsTheWorker) {
  auto engine = MakeEngine(Worker([](WorkerEnd& end, const Received& start) {
    end.Return(start.cell, std::int64_t{1});
    end.Output(start.cell, 1, "late");
  }));
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await RunOnce(*engine, "x", events);
    EXPECT_TRUE(outcome);
    EXPECT_EQ(outcome->status, RunStatus::kCompleted);
    EXPECT_EQ(outcome->stdout_text, "");
    outcome = co_await RunOnce(*engine, "next", events);
    while (outcome && outcome->status == RunStatus::kFailed) {  // Lost with the worker.
      outcome = co_await RunOnce(*engine, "next", events);
    }
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 1u);
}

}  // namespace
}  // namespace caisson
