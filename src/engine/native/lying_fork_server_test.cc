// Every lie a fork server or a cell can tell ends that fork server or that cell, and only that
// (I9).
#include <gtest/gtest.h>

#include "engine/native/testing/native_engine_fixture.h"

namespace caisson {
namespace {

using testing::AsBytes;
using testing::CellMessage;
using testing::FakeCell;
using testing::FakeForkServer;
using testing::ForkServerBehaviour;
using testing::MakeEngine;
using testing::OnLane;
using testing::Recorder;
using testing::RunOnce;
using wire::FromForkServer;
using wire::ToHost;

// --- Cells: the run ends as crashed, the fork server lives.

struct CellLie {
  std::string name;
  std::function<void(FakeCell&)> tell;
};

class LyingCellTest : public ::testing::TestWithParam<CellLie> {};

TEST_P(LyingCellTest, IsKilledAlone) {
  ForkServerBehaviour behaviour;
  behaviour.on_message = [](FakeForkServer&, FakeCell& cell, const CellMessage& message) {
    if (message.Code() == "lie") return GetParam().tell(cell);
    cell.Return(message.Code());
  };
  auto engine = MakeEngine(behaviour);
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome =
        co_await RunOnce(*engine, "lie", events, {.wall_time = std::chrono::seconds(60)});
    EXPECT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->status, RunStatus::kFailed);
    EXPECT_EQ(outcome->reason, RunReason::kCrashed);
    EXPECT_EQ(outcome->error->type, "ProtocolError");
    outcome = co_await RunOnce(*engine, "next", events);
    EXPECT_EQ(*outcome->result, Value(std::string("next")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

const CellLie kCellLies[] = {
    {"UnknownKind", [](FakeCell& cell) { cell.SendFrame(99, 0, "x"); }},
    {"KindZero", [](FakeCell& cell) { cell.SendFrame(0, 0, "x"); }},
    {"UnknownFlags", [](FakeCell& cell) { cell.SendFrame(3, 6, "x"); }},
    {"OutputOnItsSocket", [](FakeCell& cell) { cell.Send(ToHost::kOutput, "\x01x"); }},
    {"FileOnItsSocket", [](FakeCell& cell) { cell.Send(ToHost::kFile, "x"); }},
    {"Ready", [](FakeCell& cell) { cell.Send(ToHost::kReady, "x"); }},
    {"Saved", [](FakeCell& cell) { cell.Send(ToHost::kSaved, "x"); }},
    {"Restored", [](FakeCell& cell) { cell.Send(ToHost::kRestored, ""); }},
    {"FrameLongerThanAny",
     [](FakeCell& cell) {
       cell.Write(AsBytes(wire::StreamFrame{.length = 0x7fff'ffff, .kind = 3, .flags = 0}));
     }},
    {"WrongCallNumber", [](FakeCell& cell) { cell.Call(1, "f"); }},
    {"RepeatedCallNumber",
     [](FakeCell& cell) {
       cell.Call(0, "f");
       cell.Call(0, "f");
     }},
    {"ShortCall", [](FakeCell& cell) { cell.Send(ToHost::kCall, "abc"); }},
    {"CallThatIsNone",
     [](FakeCell& cell) {
       cell.Send(ToHost::kCall, AsBytes(wire::CallHeader{}) + testing::Encoded(Value()));
     }},
    {"TooManyCalls",
     [](FakeCell& cell) {
       for (std::uint32_t i = 0; i <= 1000; ++i) cell.Call(i, "f");
     }},
    {"ShortEnd", [](FakeCell& cell) { cell.Send(ToHost::kDone, "x"); }},
    {"UnknownEnding", [](FakeCell& cell) { cell.Done(Value(), static_cast<wire::Ending>(77)); }},
    {"ReportThatIsNone", [](FakeCell& cell) { cell.Done(std::int64_t{5}); }},
    {"KeptUnasked", [](FakeCell& cell) { cell.Return(std::int64_t{1}, wire::kCellKept); }},
    {"RefusedLate",
     [](FakeCell& cell) {
       cell.Call(0, "f");
       cell.Send(ToHost::kRefused, "no");
     }},
    {"ReportWithoutEnd",
     [](FakeCell& cell) {
       const std::string part(60'000, 'x');
       for (int i = 0; i < 40; ++i) {
         cell.SendFrame(std::to_underlying(ToHost::kDone), wire::kMoreFollows, part);
       }
     }},
    {"CallWithinAReport",
     [](FakeCell& cell) {
       cell.SendFrame(std::to_underlying(ToHost::kDone), wire::kMoreFollows, "x");
       cell.Call(0, "f");
     }},
    {"ReportWithinACall",
     [](FakeCell& cell) {
       cell.SendFrame(std::to_underlying(ToHost::kCall), wire::kMoreFollows, "x");
       cell.Return(std::int64_t{1});
     }},
};
INSTANTIATE_TEST_SUITE_P(Lies, LyingCellTest, ::testing::ValuesIn(kCellLies),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(LyingCellTest, OneThatSpeaksUnaskedIsNeverUsed) {
  ForkServerBehaviour behaviour;
  std::atomic<int> prepared = 0;
  behaviour.after_prepared = [&](FakeForkServer&, const FakeCell& cell) {
    if (prepared++ == 0) cell.Return(std::int64_t{666});
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 1});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    for (int i = 0; i < 3; ++i) {
      auto outcome = co_await RunOnce(*engine, "honest", events);
      EXPECT_TRUE(outcome) << outcome.error().message();
      // The first may have been handed out before its lie arrived; it is then killed in its run.
      if (i == 0 && outcome->status == RunStatus::kCompleted) continue;
      if (i > 0) EXPECT_EQ(*outcome->result, Value(std::string("honest")));
    }
  });
}

// --- ForkServers: they are killed and replaced, whatever they send and whenever.

struct ForkServerLie {
  std::string name;
  std::function<void(FakeForkServer&, FakeCell&)> tell;  // While a run is under way in the cell.
};

class LyingForkServerTest : public ::testing::TestWithParam<ForkServerLie> {};

TEST_P(LyingForkServerTest, IsKilledAndReplaced) {
  ForkServerBehaviour behaviour;
  behaviour.on_message = [](FakeForkServer& fork_server, FakeCell& cell,
                            const CellMessage& message) {
    if (fork_server.number() == 0) return GetParam().tell(fork_server, cell);
    cell.Return(message.Code());
  };
  auto engine = MakeEngine(behaviour, {.spare_cells = 1});
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
}

wire::CellGone GoneOf(std::uint64_t cell) {
  wire::CellGone gone{};
  gone.kind = FromForkServer::kGone;
  gone.cell = cell;
  return gone;
}

const ForkServerLie kForkServerLies[] = {
    {"ReadyTwice", [](FakeForkServer& fork_server, FakeCell&) { fork_server.Ready(); }},
    {"UnknownPacket",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(static_cast<FromForkServer>(77), cell.number());
     }},
    {"EmptyIsAnEndButOneByteIsALie",
     [](FakeForkServer& fork_server, FakeCell&) { fork_server.SendPacket("x"); }},
    {"PacketLongerThanAny",
     [](FakeForkServer& fork_server, FakeCell&) {
       fork_server.SendPacket(std::string(wire::kMaxControlBytes + 1, 'x'));
     }},
    {"UnknownCellBorn",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kBorn, 9999, {}, {cell.pidfd.get()});
     }},
    {"BornTwice",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kBorn, cell.number(), {}, {cell.pidfd.get()});
     }},
    {"BornWithoutProcess",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kBorn, cell.number());
     }},
    {"PreparedTwice",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       const int fd = cell.pidfd.get();
       fork_server.News(FromForkServer::kPrepared, cell.number(), {}, {fd, fd, fd, fd});
     }},
    {"PreparedWithTwoDescriptors",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kPrepared, cell.number(), {},
                        {cell.pidfd.get(), cell.pidfd.get()});
     }},
    {"MoreDescriptorsThanThereIsRoomFor",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kPrepared, cell.number(), {},
                        std::vector<int>(40, cell.pidfd.get()));
     }},
    {"FailedLate",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kFailed, cell.number(), "late");
     }},
    {"DescriptorsWithAFailure",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.News(FromForkServer::kFailed, cell.number(), "x", {cell.pidfd.get()});
     }},
    {"TextLengthThatIsNotTrue",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       const wire::CellNews news{
           .kind = FromForkServer::kFailed, .text_length = 1000, .cell = cell.number()};
       fork_server.SendPacket(AsBytes(news) + "x");
     }},
    {"UnknownCellGone",
     [](FakeForkServer& fork_server, FakeCell&) { fork_server.Gone(GoneOf(9999)); }},
    {"ShortGone",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       fork_server.SendPacket(AsBytes(GoneOf(cell.number())).substr(0, 12));
     }},
    {"GoneBySignalThatIsNone",
     [](FakeForkServer& fork_server, FakeCell& cell) {
       wire::CellGone gone = GoneOf(cell.number());
       gone.signal = 4711;
       fork_server.Gone(gone);
     }},
    {"MissingWallsWithoutEnd",
     [](FakeForkServer& fork_server, FakeCell&) { fork_server.Ready(std::string(1000, '\n')); }},
};
INSTANTIATE_TEST_SUITE_P(Lies, LyingForkServerTest, ::testing::ValuesIn(kForkServerLies),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(DyingForkServerTest, DeathAtEveryPointIsSurvived) {
  enum Point { kOnMake, kAfterBorn, kAfterPrepared, kOnStart, kOnGone, kEnd };
  for (int point = kOnMake; point < kEnd; ++point) {
    ForkServerBehaviour behaviour;
    behaviour.on_make = [point](FakeForkServer& fork_server, const wire::MakeCell& make) {
      if (fork_server.number() != 0) return static_cast<void>(fork_server.Make(make));
      if (point == kOnMake) return fork_server.Die();
      if (point == kAfterBorn) {
        FakeCell& cell = fork_server.Bear(make);
        fork_server.News(FromForkServer::kBorn, make.cell, {}, {cell.pidfd.get()});
        return fork_server.Die();
      }
      fork_server.Make(make);
      if (point == kAfterPrepared) fork_server.Die();
    };
    behaviour.on_message = [point](FakeForkServer& fork_server, FakeCell& cell,
                                   const CellMessage& message) {
      if (fork_server.number() == 0 && point == kOnStart) return fork_server.Die();
      cell.Return(message.Code());
    };
    behaviour.on_gone = [point](FakeForkServer& fork_server, FakeCell&,
                                const wire::CellGone& gone) {
      if (fork_server.number() == 0 && point == kOnGone) return fork_server.Die();
      fork_server.Gone(gone);
    };
    auto engine = MakeEngine(behaviour, {.spare_cells = 1});
    OnLane(*engine, [&]() -> asio::awaitable<void> {
      Recorder events;
      // It is lost, refused or served by the next fork server; but it ends, and later runs work.
      (void)(co_await RunOnce(*engine, "x", events)).has_value();
      auto outcome = co_await RunOnce(*engine, "next", events);
      EXPECT_TRUE(outcome) << point << ": " << outcome.error().message();
      if (outcome) EXPECT_EQ(outcome->status, RunStatus::kCompleted) << point;
    });
  }
}

}  // namespace
}  // namespace caisson
