// Saving and restoring on the host side: the messages of an honest cell, and lies of a hostile one
// (I9).
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "base/spawn.h"
#include "engine/native/testing/native_engine_fixture.h"
#include "wire/process_map.h"

namespace caisson {
namespace {

using testing::CellMessage;
using testing::FakeCell;
using testing::FakeForkServer;
using testing::ForkServerBehaviour;
using testing::MakeEngine;
using testing::OnLane;
using testing::Recorder;
using testing::RunOnce;
using wire::ToHost;
using wire::ToWorker;

using Tell = std::function<void(FakeCell&)>;

void AskProcessMap(FakeCell& cell) {
  cell.SendFrame(wire::kAskProcessMap, 0, "");
}
void SendSaved(FakeCell& cell) {
  cell.Send(ToHost::kSaved, "an image");
}
void SendRestored(FakeCell& cell) {
  cell.Send(ToHost::kRestored, "");
}

struct Script {
  Tell on_save = AskProcessMap;
  Tell on_process_map = SendSaved;
  Tell on_restore = SendRestored;
};

ForkServerBehaviour Copying(Script script) {
  ForkServerBehaviour behaviour;
  behaviour.copies = true;
  auto asked = std::make_shared<bool>(false);
  behaviour.on_message = [script = std::move(script), asked](FakeForkServer&, FakeCell& cell,
                                                             const CellMessage& message) {
    if (message.kind == ToWorker::kRestore) {
      EXPECT_TRUE(message.payload.ends_with("an image"));
      return script.on_restore(cell);
    }
    if (message.kind == ToWorker::kSave) {
      const bool is_process_map = std::exchange(*asked, !*asked);
      return is_process_map ? script.on_process_map(cell) : script.on_save(cell);
    }
    const bool is_kept = (message.Start().flags & wire::kKeepCell) != 0;
    cell.Return(message.Code(), is_kept ? wire::kCellKept : 0);
  };
  return behaviour;
}

NativeEngineOptions Soon() {
  NativeEngineOptions options;
  options.copied_within = std::chrono::milliseconds(200);
  options.max_saved_bytes = 1000;
  return options;
}

asio::awaitable<std::unique_ptr<Cell>> KeptCell(NativeEngine& engine) {
  auto cell = *co_await engine.Open({.owner = OwnerId("a")});
  Recorder events;
  EXPECT_TRUE(co_await cell->Run({.code = "1"}, events, AfterRun::kKeep));
  EXPECT_TRUE(cell->holds_state());
  co_return cell;
}

TEST(CopiesTest, ACellIsSavedAndRestored) {
  auto engine = MakeEngine(Copying({}), Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    EXPECT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->bytes, "an image");
    auto copy = co_await engine->Restore({.owner = OwnerId("a")}, *saved, {});
    EXPECT_TRUE(copy) << copy.error().message();
    EXPECT_TRUE((*copy)->holds_state());
    Recorder events;
    auto outcome = co_await (*copy)->Run({.code = "again"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::string("again")));
    EXPECT_FALSE(co_await engine->Restore({.owner = OwnerId("b")}, *saved, {}));
  });
}

// Returns when the host has handled everything that the cell has sent.
void AwaitHost(FakeCell& cell, NativeEngine& engine) {
  for (int unread = 1; unread > 0;) {
    if (::ioctl(cell.socket.get(), SIOCOUTQ, &unread) != 0) return;
    std::this_thread::yield();
  }
  std::promise<void> turn_ended;  // The host read it in a turn of its lane that may still go on.
  asio::post(engine.lane_executor(0), [&] { turn_ended.set_value(); });
  turn_ended.get_future().get();
}

TEST(CopiesTest, AThreadThatIsAboutToEndIsNoObstacle) {
  std::unique_ptr<NativeEngine> engine;
  ForkServerBehaviour behaviour = Copying({.on_save = [&](FakeCell& cell) {
    AskProcessMap(cell);
    AwaitHost(cell, *engine);  // The host has seen the thread.
    ::kill(cell.pid, SIGUSR1);
  }});
  behaviour.idleness = testing::Idleness::kSleepsWithThread;
  engine = MakeEngine(behaviour, Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    EXPECT_TRUE(saved) << saved.error().message();
    EXPECT_TRUE(cell->holds_state());
  });
}

TEST(CopiesTest, AThreadThatStaysIsAReasonToRefuseAndTheCellGoesOn) {
  ForkServerBehaviour behaviour = Copying({.on_process_map = [](FakeCell&) {}});
  behaviour.idleness = testing::Idleness::kSleepsWithThread;
  auto engine = MakeEngine(behaviour, Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    EXPECT_FALSE(saved);
    EXPECT_NE(saved.error().message().find("threads that still run (1)"), std::string::npos);
    Recorder events;
    auto outcome = co_await cell->Run({.code = "more"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::string("more")));
  });
}

struct Lie {
  std::string name;
  Tell tell;
};

void Die(FakeCell& cell) {
  ::kill(cell.pid, SIGKILL);
}

const Lie kSaveLies[] = {
    {"Nothing", [](FakeCell&) {}},
    {"Death", Die},
    {"TooLong", [](FakeCell& cell) { cell.Send(ToHost::kSaved, std::string(1001, 'x')); }},
    {"WithoutEnd",
     [](FakeCell& cell) {
       for (int i = 0; i < 20; ++i) {
         cell.SendFrame(std::to_underlying(ToHost::kSaved), wire::kMoreFollows,
                        std::string(100, 'x'));
       }
     }},
    {"Unfinished",
     [](FakeCell& cell) {
       cell.SendFrame(std::to_underlying(ToHost::kSaved), wire::kMoreFollows, "x");
     }},
    {"Restored", SendRestored},
    {"AsksTwice",
     [](FakeCell& cell) {
       AskProcessMap(cell);
       AskProcessMap(cell);
     }},
    {"AnEnd", [](FakeCell& cell) { cell.Return(std::int64_t{1}); }},
    {"ACall", [](FakeCell& cell) { cell.Call(0, "f"); }},
};

class SaveLieTest : public ::testing::TestWithParam<Lie> {};
INSTANTIATE_TEST_SUITE_P(Lies, SaveLieTest, ::testing::ValuesIn(kSaveLies),
                         [](const auto& info) { return info.param.name; });

TEST_P(SaveLieTest, EndsThatCellAlone) {
  auto engine = MakeEngine(Copying({.on_process_map = GetParam().tell}), Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    EXPECT_FALSE(saved);
    EXPECT_FALSE(cell->holds_state());
    Recorder events;
    EXPECT_TRUE(co_await RunOnce(*engine, "next", events));
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

const Lie kRestoreLies[] = {
    {"Nothing", [](FakeCell&) {}},
    {"Death", Die},
    {"Saved", SendSaved},
    {"AsksForAProcessMap", AskProcessMap},
    {"OpenCalls", [](FakeCell& cell) { cell.Send(ToHost::kRestored, "abc"); }},
    {"AnEnd", [](FakeCell& cell) { cell.Return(std::int64_t{1}); }},
    {"Refused", [](FakeCell& cell) { cell.Send(ToHost::kRefused, "no room"); }},
};

class RestoreLieTest : public ::testing::TestWithParam<Lie> {};
INSTANTIATE_TEST_SUITE_P(Lies, RestoreLieTest, ::testing::ValuesIn(kRestoreLies),
                         [](const auto& info) { return info.param.name; });

TEST_P(RestoreLieTest, EndsThatCellAlone) {
  auto engine = MakeEngine(Copying({.on_restore = GetParam().tell}), Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    EXPECT_TRUE(saved) << saved.error().message();
    auto copy = co_await engine->Restore({.owner = OwnerId("a")}, *saved, {});
    EXPECT_FALSE(copy);
    // The source continues.
    Recorder events;
    auto outcome = co_await cell->Run({.code = "more"}, events, AfterRun::kKeep);
    EXPECT_EQ(*outcome->result, Value(std::string("more")));
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

TEST(CopiesTest, OneThatAnswersTwiceIsKilled) {
  const Tell twice = [](FakeCell& cell) {
    SendSaved(cell);
    SendSaved(cell);
  };
  auto engine = MakeEngine(Copying({.on_process_map = twice}), Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    EXPECT_TRUE(co_await cell->Save(AfterSave::kKeep));
    Recorder events;
    EXPECT_TRUE(co_await RunOnce(*engine, "next", events));
    EXPECT_FALSE(cell->holds_state());
  });
  EXPECT_EQ(engine->stats().workers_lost, 0u);
}

TEST(CopiesTest, WhenTheForkServerIsGoneSoIsTheWayBack) {
  auto engine = MakeEngine(Copying({}), Soon());
  auto other = MakeEngine(Copying({}), Soon());
  SavedCell saved;
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    saved = *co_await cell->Save(AfterSave::kKeep);
  });
  OnLane(*other, [&]() -> asio::awaitable<void> {
    auto copy = co_await other->Restore({.owner = OwnerId("a")}, saved, {});
    EXPECT_EQ(copy.error().code(), ErrorCode::kFailedPrecondition);
  });
}

TEST(CopiesTest, ACopyThatNobodyWaitsForIsLetGo) {
  auto engine = MakeEngine(Copying({.on_restore = [](FakeCell&) {}}), Soon());
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    auto copy = co_await engine->Restore({.owner = OwnerId("a")}, *saved, {});
    EXPECT_FALSE(copy);
    EXPECT_EQ(engine->stats().cells_live, 1u);  // The place of the source.
  });
}

TEST(CopiesTest, ACopyWaitsForRoomWhereItsSourceLivesAndNoLongerThanItMay) {
  NativeEngineOptions options = Soon();
  options.cells_per_lane = 1;
  auto engine = MakeEngine(Copying({}), options);
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto cell = co_await KeptCell(*engine);
    auto saved = co_await cell->Save(AfterSave::kKeep);
    auto late = co_await engine->Restore(
        {.owner = OwnerId("a"), .wait = std::chrono::milliseconds(20)}, *saved, {});
    EXPECT_EQ(late.error().code(), ErrorCode::kDeadlineExceeded);

    const Stop stop(co_await asio::this_coro::executor);
    std::optional<ErrorCode> ended;
    Spawn(stop, [&]() -> asio::awaitable<void> {
      auto copy = co_await engine->Restore({.owner = OwnerId("a")}, *saved, {});
      EXPECT_FALSE(copy);
      ended = copy.error().code();
    });
    stop.Request();
    while (!ended) co_await asio::post(asio::use_awaitable);
    EXPECT_EQ(*ended, ErrorCode::kCancelled);
    EXPECT_TRUE(cell->holds_state());
  });
}

}  // namespace
}  // namespace caisson
