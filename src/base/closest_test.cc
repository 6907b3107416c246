#include "base/closest.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(ClosestTest, FindsTheClosestName) {
  EXPECT_EQ(Closest("lisen", {"store", "listen", "lister"}), "listen");
  EXPECT_EQ(Closest("ot", {"to", "cc"}), "to");
  EXPECT_EQ(Closest("name", {"name"}), "name");
}

TEST(ClosestTest, FarNamesAreNotSuggested) {
  EXPECT_EQ(Closest("colour", {"subject", "to"}), std::nullopt);
  EXPECT_EQ(Closest("x", {}), std::nullopt);
  EXPECT_EQ(Closest("x", {"y"}), std::nullopt);
  EXPECT_EQ(Closest(std::string(100'000, 'a'), {std::string_view("a")}), std::nullopt);
  EXPECT_EQ(DidYouMean("colour", {"to"}), "");
  EXPECT_EQ(DidYouMean("tto", {"to"}), "; did you mean \"to\"?");
}

}  // namespace
}  // namespace caisson
