#include "wire/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>

#include "wire/colliding_keys_for_test.h"

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

TEST(JsonTest, RefusesTextThatIsNotJson) {
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

TEST(JsonTest, MemoryIsChargedBeforeItIsAllocated) {
  std::string nulls = "[null";
  for (int i = 0; i < 1'000'000; ++i) nulls += ",null";  // 5 MB, 40 MB and more decoded.
  DecodeBudget budget;
  const auto value = ParseJson(nulls + "]", budget);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_LT(budget.used_bytes(), 2 * kMaxDecodedBytes);
}

TEST(JsonTest, AnObjectHasABoundedNumberOfKeys) {
  std::string object = "{\"k\":0";
  for (std::size_t i = 1; i < kMaxDictKeys; ++i) object += ",\"" + std::to_string(i) + "\":0";
  DecodeBudget budget(kAnyDecodedBytes);
  EXPECT_TRUE(ParseJson(object + "}", budget));
  const auto refused = ParseJson(object + ",\"one too many\":0}", budget);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
}

TEST(JsonTest, NamesTheDuplicateKey) {
  EXPECT_THAT(ParseJson(R"({"a":1,"b":2,"a":3})").error().message(),
              HasSubstr("\"a\" occurs twice"));
}

TEST(JsonTest, ManyLongNumbersAreRefusedBecauseReadingThemTakesTooLong) {
  const auto numbers = [](int count) {
    std::string text = "[0";
    for (int i = 0; i < count; ++i) text += "," + std::string(4000, '7');
    return text + "]";
  };
  EXPECT_TRUE(ParseJson(numbers(50)));
  EXPECT_FALSE(ParseJson(numbers(1000)));
}

TEST(JsonTest, KeysThatCollideInAHashAreReadAsFastAsOthers) {
  const auto cpu_time = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  Dict dict;
  for (const std::string& key : CollidingKeys::Make(14)) {
    dict.items.emplace_back(key, Value());
  }
  const std::string text = *ToJson(dict);
  const auto start = cpu_time();
  EXPECT_TRUE(ParseJson(text));
  EXPECT_LT(cpu_time() - start, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace caisson
