#include "runs/cells/session_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/spawn.h"
#include "runs/cells/loop_for_test.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const OwnerId kAnn("ann");
const OwnerId kBob("bob");

class SessionRegistryTest : public ::testing::Test {
 protected:
  ~SessionRegistryTest() override {
    if (registry_) loop_.Await(registry_->Close());
    EXPECT_EQ(engine_.stats().cells_live, 0u);
  }

  SessionRegistry& Registry(SessionOptions options = {}) {
    options.now = [this] { return now_; };
    registry_ = std::make_unique<SessionRegistry>(engine_, options);
    return *registry_;
  }
  Result<SessionRegistry::Entered> Enter(SessionKey key, Restart restart = Restart::kNo) {
    return loop_.Await(registry_->Enter(std::move(key), restart));
  }
  // Begins the session, or uses it: it has a cell afterwards and is idle.
  void Use(SessionKey key) {
    const OwnerId owner = key.owner;
    auto entered = Enter(std::move(key));
    ASSERT_TRUE(entered) << entered.error().message();
    auto& turn = std::get<SessionRegistry::Turn>(*entered);
    if (turn.cell() == nullptr) turn.Adopt(*loop_.Await(engine_.Open({.owner = owner})));
    now_ += 1s;
  }
  // Why a session is lost, or that it is not.
  std::string Loss(SessionKey key) {
    auto entered = Enter(std::move(key));
    const auto* lost = std::get_if<SessionLost>(&*entered);
    return lost != nullptr ? lost->why : "not lost";
  }

  TestLoop loop_;
  FakeEngine engine_{loop_.context().get_executor()};
  std::chrono::steady_clock::time_point now_{1000s};
  std::unique_ptr<SessionRegistry> registry_;
};

TEST_F(SessionRegistryTest, ASessionIsKeptByOwnerAndName) {
  Registry();
  Use({kAnn, "a"});
  Use({kBob, "a"});
  EXPECT_EQ(engine_.stats().cells_live, 2u);
  Use({kAnn, "a"});
  EXPECT_EQ(engine_.stats().cells_live, 2u);
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("a"));
  EXPECT_THAT(registry_->Names(OwnerId("eve")), IsEmpty());
}

TEST_F(SessionRegistryTest, ASessionThatGotNoCellIsForgotten) {
  Registry();
  {
    auto entered = Enter({kAnn, "a"});
  }
  EXPECT_THAT(registry_->Names(kAnn), IsEmpty());
}

TEST_F(SessionRegistryTest, NamesAreChecked) {
  Registry();
  for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("a/b"),
                                  std::string("a\0b", 3), std::string("ä")}) {
    auto entered = Enter({kAnn, name});
    ASSERT_FALSE(entered) << name;
    EXPECT_EQ(entered.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST_F(SessionRegistryTest, TurnsAreTakenOneAtATimeInOrder) {
  Registry();
  Use({kAnn, "a"});
  std::optional<Result<SessionRegistry::Entered>> first = Enter({kAnn, "a"});
  std::vector<int> order;
  const auto follow = [&](int number) -> asio::awaitable<void> {
    auto entered = co_await registry_->Enter({kAnn, "a"});
    EXPECT_TRUE(entered);
    order.push_back(number);
  };
  for (int number = 1; number <= 3; ++number) loop_.Start(follow(number));
  loop_.Poll();
  EXPECT_THAT(order, IsEmpty());
  first.reset();
  loop_.Poll();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST_F(SessionRegistryTest, AWaiterThatGivesUpIsPassedOver) {
  Registry();
  Use({kAnn, "a"});
  std::optional<Result<SessionRegistry::Entered>> first = Enter({kAnn, "a"});
  const Stop stop(loop_.context().get_executor());
  std::optional<ErrorCode> stopped;
  const auto impatient = [&]() -> asio::awaitable<void> {
    auto entered = co_await registry_->Enter({kAnn, "a"});
    stopped = entered ? std::nullopt : std::optional(entered.error().code());
  };
  Spawn(stop, impatient());
  bool entered = false;
  const auto patient = [&]() -> asio::awaitable<void> {
    entered = (co_await registry_->Enter({kAnn, "a"})).has_value();
  };
  loop_.Start(patient());
  loop_.Poll();
  stop.Request();
  loop_.Poll();
  EXPECT_EQ(stopped, ErrorCode::kCancelled);
  first.reset();
  loop_.Poll();
  EXPECT_TRUE(entered);
}

TEST_F(SessionRegistryTest, TheLineHasAnEnd) {
  Registry({.most_in_line = 1});
  Use({kAnn, "a"});
  std::optional<Result<SessionRegistry::Entered>> first = Enter({kAnn, "a"});
  const auto follow = [&]() -> asio::awaitable<void> {
    EXPECT_TRUE(co_await registry_->Enter({kAnn, "a"}));
  };
  loop_.Start(follow());
  loop_.Poll();
  std::optional<ErrorCode> refused;
  const auto third = [&]() -> asio::awaitable<void> {
    refused = (co_await registry_->Enter({kAnn, "a"})).error().code();
  };
  loop_.Start(third());
  loop_.Poll();
  EXPECT_EQ(refused, ErrorCode::kResourceExhausted);
  first.reset();
}

TEST_F(SessionRegistryTest, ALostSessionIsReportedUntilItIsRestarted) {
  Registry();
  Use({kAnn, "a"});
  {
    auto entered = Enter({kAnn, "a"});
    std::get<SessionRegistry::Turn>(*entered).End("it hit a limit");
  }
  loop_.Poll();
  EXPECT_EQ(engine_.stats().cells_live, 0u);
  EXPECT_EQ(Loss({kAnn, "a"}), "it hit a limit");
  EXPECT_EQ(Loss({kAnn, "a"}), "it hit a limit");
  EXPECT_EQ(Loss({kBob, "a"}), "not lost");
  auto restarted = Enter({kAnn, "a"}, Restart::kIfLost);
  EXPECT_TRUE(std::holds_alternative<SessionRegistry::Turn>(*restarted));
}

TEST_F(SessionRegistryTest, WaitersOfALostSessionAreTold) {
  Registry();
  Use({kAnn, "a"});
  std::optional<Result<SessionRegistry::Entered>> first = Enter({kAnn, "a"});
  std::string why;
  const auto follow = [&]() -> asio::awaitable<void> {
    auto entered = co_await registry_->Enter({kAnn, "a"});
    why = std::get<SessionLost>(*entered).why;
  };
  loop_.Start(follow());
  loop_.Poll();
  std::get<SessionRegistry::Turn>(**first).End("crashed");
  loop_.Poll();
  EXPECT_EQ(why, "crashed");
}

TEST_F(SessionRegistryTest, IdleSessionsEndAndAreReported) {
  Registry({.idle = 60s});
  Use({kAnn, "old"});
  now_ += 40s;
  Use({kAnn, "new"});
  now_ += 30s;
  registry_->EndIdle();
  loop_.Poll();
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("new"));
  EXPECT_EQ(engine_.stats().cells_live, 1u);
  EXPECT_THAT(Loss({kAnn, "old"}), HasSubstr("too long"));
}

TEST_F(SessionRegistryTest, ASessionInUseIsNeverIdle) {
  Registry({.idle = 60s});
  Use({kAnn, "a"});
  auto turn = Enter({kAnn, "a"});
  now_ += 1h;
  registry_->EndIdle();
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("a"));
}

TEST_F(SessionRegistryTest, AnOwnerWithoutRoomLosesItsOwnLeastUsedSession) {
  Registry({.most_per_owner = 2});
  Use({kBob, "oldest"});
  Use({kAnn, "a"});
  Use({kAnn, "b"});
  Use({kAnn, "a"});
  Use({kAnn, "c"});
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("a", "c"));
  EXPECT_THAT(registry_->Names(kBob), ElementsAre("oldest"));
  EXPECT_THAT(Loss({kAnn, "b"}), HasSubstr("room"));
}

TEST_F(SessionRegistryTest, AllTogetherHaveABoundToo) {
  Registry({.most = 2});
  Use({kBob, "oldest"});
  Use({kAnn, "a"});
  Use({OwnerId("eve"), "b"});
  EXPECT_THAT(registry_->Names(kBob), IsEmpty());
  EXPECT_THAT(Loss({kBob, "oldest"}), HasSubstr("room"));
}

TEST_F(SessionRegistryTest, TheOwnerWithMostSessionsMakesRoom) {
  Registry({.most = 4});
  const OwnerId eve("eve");
  Use({kBob, "oldest"});
  Use({eve, "1"});
  Use({eve, "2"});
  Use({eve, "3"});
  Use({kAnn, "a"});
  EXPECT_THAT(registry_->Names(kBob), ElementsAre("oldest"));
  EXPECT_THAT(registry_->Names(eve), ElementsAre("2", "3"));
  // Whoever would have most of all makes room for itself.
  Use({eve, "4"});
  EXPECT_THAT(registry_->Names(eve), ElementsAre("3", "4"));
  EXPECT_THAT(registry_->Names(kBob), ElementsAre("oldest"));
}

TEST_F(SessionRegistryTest, WithoutAnythingIdleThereIsNoRoom) {
  Registry({.most_per_owner = 1});
  Use({kAnn, "a"});
  auto turn = Enter({kAnn, "a"});
  auto refused = Enter({kAnn, "b"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(SessionRegistryTest, AForkGoesItsOwnWay) {
  Registry();
  Use({kAnn, "a"});
  EXPECT_TRUE(loop_.Await(registry_->Fork({kAnn, "a"}, "b", {})));
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("a", "b"));
  EXPECT_EQ(engine_.stats().cells_live, 2u);
}

TEST_F(SessionRegistryTest, EverySessionHasAnIdOfItsOwnForAsLongAsItLasts) {
  Registry();
  std::set<std::string> ids;
  // Each has to be another one than those before, and the same one at the next turn.
  const auto expect_new = [&](SessionKey key, Restart restart = Restart::kNo) {
    std::string first;
    {
      auto entered = Enter(key, restart);
      auto& turn = std::get<SessionRegistry::Turn>(*entered);
      if (turn.cell() == nullptr) turn.Adopt(*loop_.Await(engine_.Open({.owner = key.owner})));
      first = turn.id().str();
    }
    auto again = Enter(key);
    EXPECT_EQ(std::get<SessionRegistry::Turn>(*again).id().str(), first);
    EXPECT_GE(first.size(), 20u);
    EXPECT_TRUE(ids.insert(first).second) << first;
  };
  expect_new({kAnn, "a"});
  expect_new({kBob, "a"});
  ASSERT_TRUE(loop_.Await(registry_->Fork({kAnn, "a"}, "b", {})));
  expect_new({kAnn, "b"});
  ASSERT_TRUE(loop_.Await(registry_->End({kAnn, "a"})));
  expect_new({kAnn, "a"});
  {
    auto entered = Enter({kAnn, "a"});
    std::get<SessionRegistry::Turn>(*entered).End("it crashed");
  }
  expect_new({kAnn, "a"}, Restart::kIfLost);
}

TEST_F(SessionRegistryTest, AForkNeedsASourceOfItsOwnerAndAFreeName) {
  Registry();
  Use({kAnn, "a"});
  Use({kBob, "b"});
  const auto fork = [&](SessionKey from, std::string to) {
    return loop_.Await(registry_->Fork(std::move(from), std::move(to), {})).error().code();
  };
  EXPECT_EQ(fork({kAnn, "b"}, "c"), ErrorCode::kNotFound);  // Bob's, or nobody's: the same (I4).
  EXPECT_EQ(fork({kAnn, "x"}, "c"), ErrorCode::kNotFound);
  EXPECT_EQ(fork({kAnn, "a"}, "a"), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(fork({kAnn, "a"}, "b c"), ErrorCode::kInvalidArgument);
}

TEST_F(SessionRegistryTest, AForkThatFailsLeavesNothing) {
  Registry();
  Use({kAnn, "a"});
  engine_.FailNextOpen(Error(ErrorCode::kFailedPrecondition, "this engine cannot"));
  EXPECT_FALSE(loop_.Await(registry_->Fork({kAnn, "a"}, "b", {})));
  EXPECT_THAT(registry_->Names(kAnn), ElementsAre("a"));
}

TEST_F(SessionRegistryTest, EndingIsNoLoss) {
  Registry();
  Use({kAnn, "a"});
  EXPECT_TRUE(loop_.Await(registry_->End({kAnn, "a"})));
  EXPECT_TRUE(loop_.Await(registry_->End({kAnn, "a"})));
  EXPECT_EQ(engine_.stats().cells_live, 0u);
  EXPECT_EQ(Loss({kAnn, "a"}), "not lost");
}

TEST_F(SessionRegistryTest, CloseSendsHomeWhoWaitsAndWaitsForWhoIsInside) {
  Registry();
  Use({kAnn, "a"});
  Use({kAnn, "idle"});
  std::optional<Result<SessionRegistry::Entered>> inside = Enter({kAnn, "a"});
  std::optional<ErrorCode> sent_home;
  const auto follow = [&]() -> asio::awaitable<void> {
    sent_home = (co_await registry_->Enter({kAnn, "a"})).error().code();
  };
  loop_.Start(follow());
  loop_.Poll();
  bool closed = false;
  const auto close = [&]() -> asio::awaitable<void> {
    co_await registry_->Close();
    closed = true;
  };
  loop_.Start(close());
  loop_.Poll();
  EXPECT_EQ(sent_home, ErrorCode::kUnavailable);
  EXPECT_FALSE(closed);
  inside.reset();
  loop_.Poll();
  EXPECT_TRUE(closed);
  EXPECT_EQ(engine_.stats().cells_live, 0u);
  EXPECT_EQ(Enter({kAnn, "a"}).error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace caisson
