#include "base/turnstile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <vector>

#include "base/spawn.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;

class TurnstileTest : public ::testing::Test {
 protected:
  // Enters, waiting if necessary. A request to `leave` cancels the wait.
  void Enter(int who, const Stop& leave) {
    const auto enter = [](TurnstileTest& self, int which) -> asio::awaitable<void> {
      auto pass = co_await self.turnstile_.Enter();
      if (!pass) co_return;
      self.entered_.push_back(which);
      self.passes_.emplace(which, *std::move(pass));
    };
    Spawn(leave, enter(*this, who), [](const std::exception_ptr&) {});
    Poll();
  }
  void Enter(int who) { Enter(who, Stop(context_.get_executor())); }
  void Leave(int who) {
    passes_.erase(who);
    Poll();
  }
  void Poll() {
    context_.restart();
    context_.poll();
  }

  asio::io_context context_;
  Turnstile turnstile_{2};
  std::vector<int> entered_;
  std::map<int, Turnstile::Pass> passes_;
};

TEST_F(TurnstileTest, ALimitedNumberEntersAndTheOthersFollowInOrder) {
  for (int who = 0; who < 5; ++who) Enter(who);
  EXPECT_THAT(entered_, ElementsAre(0, 1));
  Leave(1);
  EXPECT_THAT(entered_, ElementsAre(0, 1, 2));
  Leave(0);
  Leave(2);
  EXPECT_THAT(entered_, ElementsAre(0, 1, 2, 3, 4));
  Leave(3);
  Leave(4);
  for (int who = 5; who < 8; ++who) Enter(who);
  EXPECT_THAT(entered_, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST_F(TurnstileTest, APassLeavesOnce) {
  for (int who = 0; who < 4; ++who) Enter(who);
  passes_.at(0).Leave();
  Leave(0);
  EXPECT_THAT(entered_, ElementsAre(0, 1, 2));
}

TEST_F(TurnstileTest, ACancelledCoroutineKeepsNoPlace) {
  const Stop third(context_.get_executor());
  const Stop fourth(context_.get_executor());
  Enter(0);
  Enter(1);
  Enter(2, third);
  Enter(3, fourth);
  third.Request();
  Poll();
  // Its turn comes after it was cancelled and before the cancellation is delivered.
  fourth.Request();
  context_.restart();
  context_.poll_one();
  passes_.erase(0);
  Poll();
  EXPECT_THAT(entered_, ElementsAre(0, 1));
  passes_.clear();
  for (int who = 4; who < 7; ++who) Enter(who);
  EXPECT_THAT(std::vector<int>(entered_.end() - 2, entered_.end()), ElementsAre(4, 5));
}

}  // namespace
}  // namespace caisson
