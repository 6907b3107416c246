#include "base/sha256.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(Sha256Test, IsTheStandardsOwn) {
  const char* const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(ToHex(Sha256("abc")), abc);
  EXPECT_EQ(Sha256FromHex(abc), Sha256("abc"));
}

TEST(Sha256Test, OnlySixtyFourDigitsAreADigest) {
  EXPECT_FALSE(Sha256FromHex(""));
  EXPECT_FALSE(Sha256FromHex(std::string(63, 'a')));
  EXPECT_FALSE(Sha256FromHex(std::string(62, 'a') + " a"));
  EXPECT_FALSE(Sha256FromHex(std::string(62, 'a') + "-1"));
  EXPECT_TRUE(Sha256FromHex(std::string(64, 'A')));
}

TEST(Sha256Test, ComparingSeesEveryDifference) {
  EXPECT_TRUE(EqualInConstantTime("", ""));
  EXPECT_TRUE(EqualInConstantTime("ab", "ab"));
  EXPECT_FALSE(EqualInConstantTime("ab", "aB"));
  EXPECT_FALSE(EqualInConstantTime("ab", "abc"));
}

}  // namespace
}  // namespace caisson
