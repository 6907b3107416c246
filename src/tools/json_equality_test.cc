#include "tools/json_equality.h"

#include <gtest/gtest.h>

#include <limits>

#include "wire/json.h"

namespace caisson {
namespace {

Value Json(std::string_view text) {
  return *ParseJson(text);
}

bool Same(std::string_view a, std::string_view b) {
  return CanonicalText(Json(a)) == CanonicalText(Json(b));
}

TEST(JsonEqualityTest, NumbersAreEqualByValue) {
  EXPECT_TRUE(Same("1", "1.0"));
  EXPECT_TRUE(Same("0", "-0.0"));
  EXPECT_TRUE(Same("1e2", "100"));
  EXPECT_FALSE(Same("1", "1.5"));
  EXPECT_FALSE(Same("9223372036854775808", "9223372036854775809"));
}

TEST(JsonEqualityTest, DifferentKindsAreNotEqual) {
  EXPECT_FALSE(Same("1", "true"));
  EXPECT_FALSE(Same("0", "false"));
  EXPECT_FALSE(Same("null", "false"));
  EXPECT_FALSE(Same("\"1\"", "1"));
  EXPECT_FALSE(Same("[]", "{}"));
}

TEST(JsonEqualityTest, ContentCannotLookLikeStructure) {
  EXPECT_FALSE(Same(R"(["a", "b"])", R"(["as1:b"])"));
  EXPECT_FALSE(Same("[[1],[2]]", "[[1,2],[]]"));
  EXPECT_FALSE(Same("[1,2]", "[12]"));
}

TEST(JsonEqualityTest, OrderOfKeysDoesNotMatter) {
  EXPECT_TRUE(Same(R"({"a": 1, "b": [2]})", R"({"b": [2.0], "a": 1.0})"));
  EXPECT_FALSE(Same(R"({"a": 1})", R"({"a": 1, "b": null})"));
  EXPECT_EQ(CanonicalText(Value(Tuple{{Value(true)}})), CanonicalText(Json("[true]")));
}

TEST(JsonEqualityTest, NumbersCompareAcrossKinds) {
  const auto less = [](std::string_view a, std::string_view b) {
    return CompareNumbers(Json(a), Json(b)) < 0 && CompareNumbers(Json(b), Json(a)) > 0;
  };
  EXPECT_TRUE(less("1", "1.5"));
  EXPECT_TRUE(less("-1.5", "-1"));
  EXPECT_TRUE(less("9007199254740992.0", "9007199254740993"));  // Both must not be rounded.
  EXPECT_TRUE(less("9223372036854775807", "9223372036854775808.0"));
  EXPECT_TRUE(less("9223372036854775807", "9223372036854775808"));
  EXPECT_TRUE(less("-9223372036854775809", "-9223372036854775808"));
  EXPECT_TRUE(less("-100000000000000000000000000", "-99999999999999999999999999"));
  EXPECT_TRUE(less("99999999999999999999", "1e30"));
  const Value nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(CompareNumbers(nan, Json("1")) == std::partial_ordering::unordered);
  EXPECT_TRUE(CompareNumbers(Json("\"1\""), Json("1")) == std::partial_ordering::unordered);
  EXPECT_TRUE(CompareNumbers(Json("true"), Json("1")) == std::partial_ordering::unordered);
}

TEST(JsonEqualityTest, MultiplesOfWholeAndDecimalNumbers) {
  const auto multiple = [](std::string_view value, std::string_view unit) {
    return IsMultipleOf(Json(value), Json(unit));
  };
  EXPECT_TRUE(multiple("10", "2"));
  EXPECT_FALSE(multiple("7", "2"));
  EXPECT_TRUE(multiple("0", "3"));
  EXPECT_TRUE(multiple("4.5", "1.5"));
  EXPECT_TRUE(multiple("0.0075", "0.0001"));
  EXPECT_FALSE(multiple("0.00751", "0.0001"));
  EXPECT_TRUE(multiple("0.3", "0.1"));
  EXPECT_FALSE(multiple("1e308", "0.123456789"));
  EXPECT_TRUE(multiple("300000000000000000000", "3"));
  EXPECT_FALSE(multiple("300000000000000000001", "3"));
  EXPECT_TRUE(multiple("-300000000000000000000", "3"));
  EXPECT_FALSE(multiple("-300000000000000000001", "3"));
}

}  // namespace
}  // namespace caisson
