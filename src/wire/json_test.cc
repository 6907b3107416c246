#include "wire/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::HasSubstr;

std::string Again(std::string_view text) {
  const auto value = ParseJson(text);
  if (!value) return value.error().message();
  const auto json = ToJson(*value);
  return json ? *json : json.error().message();
}

TEST(JsonTest, ReadsWhatToJsonWrites) {
  for (const std::string_view text :
       {"null", "true", "false", "0", "-7", "1.5", "-2.0", "1e+300", "\"\"", "[]", "{}",
        R"({"a":[1,{"b":null}],"c":"ü\n\"\\"})", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "-9223372036854775809", "-340282366920938463463374607431768211456",
        "100000000000000000000000000000000000000000000000000000000001"}) {
    EXPECT_EQ(Again(text), text);
  }
}

TEST(JsonTest, TellsIntsFromFloats) {
  EXPECT_EQ(*ParseJson("1"), Value(std::int64_t{1}));
  EXPECT_EQ(*ParseJson("1.0"), Value(1.0));
  EXPECT_EQ(*ParseJson("1E2"), Value(100.0));
}

TEST(JsonTest, TakesSpaceAndEscapes) {
  EXPECT_EQ(Again(" [ 1 ,\n\t2 ] "), "[1,2]");
  EXPECT_EQ(*ParseJson(R"("\u00fc\ud83d\ude00\/\b")"), Value(std::string("ü😀/\b")));
}

TEST(JsonTest, RefusesWhatIsNoJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "nul",
                                      "nan",
                                      "NaN",
                                      "01",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "--1",
                                      "[1,]",
                                      "[1 2]",
                                      "{a:1}",
                                      "{\"a\"}",
                                      "{\"a\":1,}",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\ud800\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\n\"",
                                      "\"\xff\"",
                                      "1 2",
                                      "'a'",
                                      "1e999",
                                      "[",
                                      "{\"a\":1,\"a\":2}"}) {
    EXPECT_FALSE(ParseJson(text)) << text;
  }
  EXPECT_FALSE(ParseJson(std::string_view("\0", 1)));
}

TEST(JsonTest, DepthAndDigitsAreBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(ParseJson(nested(kMaxValueDepth)));
  EXPECT_FALSE(ParseJson(nested(kMaxValueDepth + 1)));
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')));
  EXPECT_TRUE(ParseJson(std::string(19'000, '9')));
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '9')));
}

TEST(JsonTest, SaysWhere) {
  EXPECT_THAT(ParseJson("[1,\n 2,\n x]").error().message(), HasSubstr("line 3 column 2"));
}

}  // namespace
}  // namespace caisson
