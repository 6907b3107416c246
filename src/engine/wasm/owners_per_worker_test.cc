// Which owners share a worker process, and which never do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <map>
#include <set>

#include "base/guarded.h"
#include "engine/wasm/testing/wasm_engine_fixture.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using testing::MakeEngine;
using testing::OnLane;
using testing::Recorder;
using ::testing::SizeIs;
using testing::WorkerEnd;
using wire::ToWorker;

// Records the owners whose code each worker process has run, by the number of the worker. The code
// is the name of its owner.
class OwnersPerWorkerTest : public ::testing::Test {
 protected:
  using Served = std::map<int, std::set<std::string>>;

  std::unique_ptr<WasmEngine> Start(WasmEngineOptions options) {
    return MakeEngine(
        [this](WorkerEnd& end, int number) -> WorkerExit {
          end.Ready();
          while (auto message = end.Receive()) {
            if (message->kind != ToWorker::kStart && message->kind != ToWorker::kAgain) continue;
            served_.Lock()->operator[](number).insert(message->Code());
            const auto flags = message->Header<wire::StartHeader>().flags;
            end.Return(message->cell, message->Code(),
                       (flags & wire::kKeepCell) != 0 ? wire::kCellKept : 0);
          }
          return {};
        },
        std::move(options));
  }
  static asio::awaitable<std::unique_ptr<Cell>> Run(WasmEngine& engine, std::string owner,
                                                    AfterRun after) {
    auto cell = co_await engine.Open({.owner = OwnerId(owner)});
    EXPECT_TRUE(cell);
    Recorder events;
    auto outcome = co_await (*cell)->Run({.code = owner}, events, after);
    EXPECT_TRUE(outcome) << outcome.error().message();
    if (outcome) EXPECT_EQ(outcome->result, Value(owner));
    co_return *std::move(cell);
  }

  Guarded<Served> served_;
};

TEST_F(OwnersPerWorkerTest, OwnersShareAWorkerByDefault) {
  auto engine = Start({});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    for (const char* owner : {"ann", "bob"}) co_await Run(*engine, owner, AfterRun::kDiscard);
  });
  EXPECT_THAT(served_.Lock()->at(0), SizeIs(2));
}

TEST_F(OwnersPerWorkerTest, OneOwnerPerWorkerIsKeptThroughout) {
  auto engine = Start({.owners_per_worker = OwnersPerWorker::kOne, .max_owner_workers = 2});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    // More owners than workers: each gets a process that no other owner has used.
    for (int round = 0; round < 5; ++round) {
      for (const char* owner : {"ann", "bob", "bob", "cleo", "ann"}) {
        co_await Run(*engine, owner, AfterRun::kDiscard);
      }
      // While another cell is kept.
      const auto kept = co_await Run(*engine, "dora", AfterRun::kKeep);
      co_await Run(*engine, "ann", AfterRun::kDiscard);
      co_await Run(*engine, "dora", AfterRun::kDiscard);
    }
  });
  auto served = served_.Lock();
  EXPECT_GE(served->size(), 4u);
  for (const auto& [number, owners] : *served) EXPECT_THAT(owners, SizeIs(1)) << number;
}

TEST_F(OwnersPerWorkerTest, AnOwnersCellsShareItsWorker) {
  auto engine = Start({.owners_per_worker = OwnersPerWorker::kOne});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    const auto kept = co_await Run(*engine, "ann", AfterRun::kKeep);
    for (int i = 0; i < 5; ++i) co_await Run(*engine, "ann", AfterRun::kDiscard);
  });
  EXPECT_THAT(*served_.Lock(), SizeIs(1));
}

TEST_F(OwnersPerWorkerTest, AnOwnerWaitsUntilAnotherHasNoCell) {
  auto engine = Start({.owners_per_worker = OwnersPerWorker::kOne, .max_owner_workers = 1});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    auto kept = co_await Run(*engine, "ann", AfterRun::kKeep);
    // After the other has begun to wait: the end of this cell lets it continue.
    asio::post(engine->lane_executor(0), [cell = std::move(kept)]() mutable { cell.reset(); });
    co_await Run(*engine, "bob", AfterRun::kDiscard);
  });
  auto served = served_.Lock();
  EXPECT_THAT(*served, SizeIs(2));
  for (const auto& [number, owners] : *served) EXPECT_THAT(owners, SizeIs(1)) << number;
}

TEST_F(OwnersPerWorkerTest, WaitingForAWorkerEndsWithTheReason) {
  auto engine = Start({.owners_per_worker = OwnersPerWorker::kOne,
                       .max_owner_workers = 1,
                       .owner_wait = std::chrono::milliseconds(1)});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    const auto kept = co_await Run(*engine, "ann", AfterRun::kKeep);
    auto cell = co_await engine->Open({.owner = OwnerId("bob")});
    Recorder events;
    auto outcome = co_await (*cell)->Run({.code = "bob"}, events, AfterRun::kDiscard);
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::kResourceExhausted);
    EXPECT_THAT(outcome.error().message(), HasSubstr("owners_per_worker"));
  });
}

TEST(WorkerLostTest, TheOperatorIsToldWhy) {
  Guarded<std::string> told;
  auto engine = MakeEngine(
      [](WorkerEnd& end, int number) -> WorkerExit {
        end.Ready();
        while (auto message = end.Receive()) {
          if (number == 0) return {.signal = 11};
          end.Return(message->cell, message->Code());
        }
        return {};
      },
      {.on_worker_lost = [&](const std::string& why) { *told.Lock() = why; }});
  OnLane(*engine, [&]() -> asio::awaitable<void> {
    Recorder events;
    auto outcome = co_await testing::RunOnce(*engine, "x", events);
    EXPECT_EQ(outcome->reason, RunReason::kCrashed);
    EXPECT_TRUE(co_await testing::RunOnce(*engine, "y", events));  // In the next worker.
  });
  EXPECT_THAT(*told.Lock(), HasSubstr("killed by signal 11 (SIGSEGV)"));
}

}  // namespace
}  // namespace caisson
