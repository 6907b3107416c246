#include "bench/ping_pong.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson::bench {
namespace {

TEST(PingPongTest, EveryRoundTripTakesTime) {
  const auto samples = PingPong(10);
  ASSERT_TRUE(samples.has_value()) << samples.error().message();
  EXPECT_THAT(*samples, testing::SizeIs(10));
  EXPECT_THAT(*samples, testing::Each(testing::Gt(0)));
}

}  // namespace
}  // namespace caisson::bench
