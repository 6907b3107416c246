#include "wire/located_value.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(LocatedValueTest, NamesTheLineOfEachPart) {
  const auto located = ParseLocatedJson(R"({
  "a": [1,
    "x\"y\n{",
    {"b/c~d": true}],

  "e": null
})");
  ASSERT_TRUE(located);
  EXPECT_EQ(located->LineOf(""), 1u);
  EXPECT_EQ(located->LineOf("/a"), 2u);
  EXPECT_EQ(located->LineOf("/a/1"), 3u);
  EXPECT_EQ(located->LineOf("/a/2"), 4u);
  EXPECT_EQ(located->LineOf("/a/2" + PointerStep("b/c~d")), 4u);
  EXPECT_EQ(located->LineOf("/e"), 6u);
}

TEST(LocatedValueTest, TakesTheLineOfTheNearestPartAroundAMissingOne) {
  const auto located = ParseLocatedJson("{\n\"a\": {}}");
  ASSERT_TRUE(located);
  EXPECT_EQ(located->LineOf("/a/b/c"), 2u);
  EXPECT_EQ(located->LineOf("/b"), 1u);
}

TEST(LocatedValueTest, UnescapesKeys) {
  const auto located = ParseLocatedJson("\n{\"a\\u0062\": \n 1}");
  ASSERT_TRUE(located);
  EXPECT_EQ(located->LineOf("/ab"), 3u);
}

TEST(LocatedValueTest, RefusesWhatIsNotJsonAndWhatIsTooLarge) {
  EXPECT_FALSE(ParseLocatedJson("{\"a\": }"));
  EXPECT_FALSE(ParseLocatedJson(std::string(kMaxLocatedBytes + 1, ' ')));
  std::string many = "[0";
  for (std::size_t i = 0; i < kMaxLocatedParts; ++i) many += ",0";
  EXPECT_EQ(ParseLocatedJson(many + "]").error().code(), ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace caisson
