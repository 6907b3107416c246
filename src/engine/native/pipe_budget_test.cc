#include "engine/native/pipe_budget.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace caisson {
namespace {

std::size_t TakeAll(PipeBudget& budget) {
  std::size_t held = 0;
  while (budget.Take(held)) ++held;
  return held;
}

TEST(PipeBudgetTest, ACellHoldsAPartOfWhatIsLeft) {
  PipeBudget budget(90);
  EXPECT_EQ(TakeAll(budget), 10u);
  EXPECT_EQ(budget.left(), 80u);
  budget.Return(10);
  EXPECT_EQ(budget.left(), 90u);
}

TEST(PipeBudgetTest, ManyCellsThatTakeAllLeaveSomeForTheNext) {
  PipeBudget budget(512);
  for (int cell = 0; cell < 32; ++cell) TakeAll(budget);
  EXPECT_GE(TakeAll(budget), 1u);
}

TEST(PipeBudgetTest, NothingIsTakenFromAnEmptyOne) {
  PipeBudget budget(0);
  EXPECT_FALSE(budget.Take(0));
  EXPECT_EQ(budget.left(), 0u);
}

TEST(PipeBudgetTest, CountsEachOpenPipeOnce) {
  const auto before = CountOpenPipes(::getpid());
  ASSERT_TRUE(before);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_EQ(CountOpenPipes(::getpid()), *before + 1);
}

TEST(PipeBudgetTest, AProcessThatIsNotThereIsNotCounted) {
  EXPECT_EQ(CountOpenPipes(0x7fffffff), std::nullopt);
}

}  // namespace
}  // namespace caisson
