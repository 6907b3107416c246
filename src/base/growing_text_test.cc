#include "base/growing_text.h"

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

TEST(GrowingTextTest, HoldsWhatWasAppendedInOrder) {
  GrowingText text("a");
  std::string expected = "a";
  for (std::size_t length = 1; length < 50'000; length = length * 3 + 1) {
    const std::string piece(length, static_cast<char>('a' + length % 26));
    text.Append(piece);
    expected += piece;
  }
  EXPECT_EQ(text.size(), expected.size());
  EXPECT_EQ(text.str(), expected);
  EXPECT_EQ(GrowingText().str(), "");
}

TEST(GrowingTextTest, ACopyStaysAsItIsWhenTheOriginalGrows) {
  GrowingText text("first");
  const GrowingText copy = text;
  text.Append(std::string(100'000, 'x'));
  EXPECT_EQ(copy.str(), "first");
  EXPECT_EQ(copy.size(), 5U);
  EXPECT_EQ(text.str(), "first" + std::string(100'000, 'x'));
}

}  // namespace
}  // namespace caisson
