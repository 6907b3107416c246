// Every lie a nursery or a cell can tell ends that nursery or that cell, and only that (I9).
#include <gtest/gtest.h>

#include "engine/native/testing/engine_fixture.h"

namespace caisson {
namespace {

using testing::AsBytes;
using testing::CellMessage;
using testing::FakeCell;
using testing::FakeNursery;
using testing::MakeEngine;
using testing::NurseryBehaviour;
using testing::OnLane;
using testing::Recorder;
using testing::RunOnce;
using wire::FromNursery;
using wire::ToHost;

// --- Cells: the run ends as crashed, the nursery lives.

struct CellLie {
  std::string name;
  std::function<void(FakeCell&)> tell;
};

class LyingCellTest : public ::testing::TestWithParam<CellLie> {};

TEST_P(LyingCellTest, IsKilledAlone) {
  NurseryBehaviour behaviour;
  behaviour.on_message = [](FakeNursery&, FakeCell& cell, const CellMessage& message) {
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
  NurseryBehaviour behaviour;
  std::atomic<int> prepared = 0;
  behaviour.after_prepared = [&](FakeNursery&, const FakeCell& cell) {
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

// --- Nurseries: they are killed and replaced, whatever they send and whenever.

struct NurseryLie {
  std::string name;
  std::function<void(FakeNursery&, FakeCell&)> tell;  // While a run is under way in the cell.
};

class LyingNurseryTest : public ::testing::TestWithParam<NurseryLie> {};

TEST_P(LyingNurseryTest, IsKilledAndReplaced) {
  NurseryBehaviour behaviour;
  behaviour.on_message = [](FakeNursery& nursery, FakeCell& cell, const CellMessage& message) {
    if (nursery.number() == 0) return GetParam().tell(nursery, cell);
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
  gone.kind = FromNursery::kGone;
  gone.cell = cell;
  return gone;
}

const NurseryLie kNurseryLies[] = {
    {"ReadyTwice", [](FakeNursery& nursery, FakeCell&) { nursery.Ready(); }},
    {"UnknownPacket",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(static_cast<FromNursery>(77), cell.number());
     }},
    {"EmptyIsAnEndButOneByteIsALie",
     [](FakeNursery& nursery, FakeCell&) { nursery.SendPacket("x"); }},
    {"PacketLongerThanAny",
     [](FakeNursery& nursery, FakeCell&) {
       nursery.SendPacket(std::string(wire::kMaxControlBytes + 1, 'x'));
     }},
    {"UnknownCellBorn",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kBorn, 9999, {}, {cell.pidfd.get()});
     }},
    {"BornTwice",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kBorn, cell.number(), {}, {cell.pidfd.get()});
     }},
    {"BornWithoutProcess",
     [](FakeNursery& nursery, FakeCell& cell) { nursery.News(FromNursery::kBorn, cell.number()); }},
    {"PreparedTwice",
     [](FakeNursery& nursery, FakeCell& cell) {
       const int fd = cell.pidfd.get();
       nursery.News(FromNursery::kPrepared, cell.number(), {}, {fd, fd, fd, fd});
     }},
    {"PreparedWithTwoDescriptors",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kPrepared, cell.number(), {},
                    {cell.pidfd.get(), cell.pidfd.get()});
     }},
    {"MoreDescriptorsThanThereIsRoomFor",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kPrepared, cell.number(), {},
                    std::vector<int>(40, cell.pidfd.get()));
     }},
    {"FailedLate",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kFailed, cell.number(), "late");
     }},
    {"DescriptorsWithAFailure",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.News(FromNursery::kFailed, cell.number(), "x", {cell.pidfd.get()});
     }},
    {"TextLengthThatIsNotTrue",
     [](FakeNursery& nursery, FakeCell& cell) {
       const wire::CellNews news{
           .kind = FromNursery::kFailed, .text_length = 1000, .cell = cell.number()};
       nursery.SendPacket(AsBytes(news) + "x");
     }},
    {"UnknownCellGone", [](FakeNursery& nursery, FakeCell&) { nursery.Gone(GoneOf(9999)); }},
    {"ShortGone",
     [](FakeNursery& nursery, FakeCell& cell) {
       nursery.SendPacket(AsBytes(GoneOf(cell.number())).substr(0, 12));
     }},
    {"GoneBySignalThatIsNone",
     [](FakeNursery& nursery, FakeCell& cell) {
       wire::CellGone gone = GoneOf(cell.number());
       gone.signal = 4711;
       nursery.Gone(gone);
     }},
    {"MissingWallsWithoutEnd",
     [](FakeNursery& nursery, FakeCell&) { nursery.Ready(std::string(1000, '\n')); }},
};
INSTANTIATE_TEST_SUITE_P(Lies, LyingNurseryTest, ::testing::ValuesIn(kNurseryLies),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(DyingNurseryTest, DeathAtEveryPointIsSurvived) {
  enum Point { kOnMake, kAfterBorn, kAfterPrepared, kOnStart, kOnGone, kEnd };
  for (int point = kOnMake; point < kEnd; ++point) {
    NurseryBehaviour behaviour;
    behaviour.on_make = [point](FakeNursery& nursery, const wire::MakeCell& make) {
      if (nursery.number() != 0) return static_cast<void>(nursery.Make(make));
      if (point == kOnMake) return nursery.Die();
      if (point == kAfterBorn) {
        FakeCell& cell = nursery.Bear(make);
        nursery.News(FromNursery::kBorn, make.cell, {}, {cell.pidfd.get()});
        return nursery.Die();
      }
      nursery.Make(make);
      if (point == kAfterPrepared) nursery.Die();
    };
    behaviour.on_message = [point](FakeNursery& nursery, FakeCell& cell,
                                   const CellMessage& message) {
      if (nursery.number() == 0 && point == kOnStart) return nursery.Die();
      cell.Return(message.Code());
    };
    behaviour.on_gone = [point](FakeNursery& nursery, FakeCell&, const wire::CellGone& gone) {
      if (nursery.number() == 0 && point == kOnGone) return nursery.Die();
      nursery.Gone(gone);
    };
    auto engine = MakeEngine(behaviour, {.spare_cells = 1});
    OnLane(*engine, [&]() -> asio::awaitable<void> {
      Recorder events;
      // It is lost, refused or served by the next nursery; but it ends, and later runs work.
      (void)(co_await RunOnce(*engine, "x", events)).has_value();
      auto outcome = co_await RunOnce(*engine, "next", events);
      EXPECT_TRUE(outcome) << point << ": " << outcome.error().message();
      if (outcome) EXPECT_EQ(outcome->status, RunStatus::kCompleted) << point;
    });
  }
}

}  // namespace
}  // namespace caisson
