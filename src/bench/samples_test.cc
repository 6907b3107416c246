#include "bench/samples.h"

#include <gtest/gtest.h>

namespace caisson::bench {
namespace {

TEST(SamplesTest, MedianOfAnOddNumberIsTheMiddleOne) {
  EXPECT_DOUBLE_EQ(Summarise({9, 1, 5}).median, 5);
}

TEST(SamplesTest, MedianOfAnEvenNumberLiesBetweenTheTwo) {
  EXPECT_DOUBLE_EQ(Summarise({4, 1, 2, 9}).median, 3);
}

TEST(SamplesTest, P99IsTheLargestOfFew) {
  const Distribution few = Summarise({3, 7});
  EXPECT_DOUBLE_EQ(few.p99, 7);
  EXPECT_EQ(few.n, 2u);
}

TEST(SamplesTest, P99LeavesOutOneInAHundred) {
  Samples samples;
  for (int i = 1; i <= 200; ++i) samples.push_back(i);
  EXPECT_DOUBLE_EQ(Summarise(samples).p99, 198);
}

TEST(SamplesTest, GeometricMeanIsOfRatios) {
  EXPECT_DOUBLE_EQ(GeometricMean({0.5, 2, 4, 0.25}), 1);
}

}  // namespace
}  // namespace caisson::bench
