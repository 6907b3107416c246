#include "wire/json_misfit.h"

#include <gtest/gtest.h>

#include <limits>

namespace caisson {
namespace {

std::string Found(const Value& value) {
  const auto misfit = FindJsonMisfit(value);
  EXPECT_EQ(misfit.has_value(), !ToJson(value));
  return misfit ? misfit->path + ": " + misfit->reason : "none";
}

TEST(JsonMisfitTest, ValuesThatJsonHoldsHaveNoMisfit) {
  EXPECT_EQ(Found(Value()), "none");
  EXPECT_EQ(Found(Dict{{{"a", List{{1, 2.5, "x", true, Value(), Tuple{{1}}}}}}}), "none");
  EXPECT_EQ(Found(BigInt{std::string(100, '\x01')}), "none");
}

TEST(JsonMisfitTest, TheFirstMisfitIsNamedWithItsPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Found(Value(nan)), ": JSON cannot hold NaN or infinity");
  EXPECT_EQ(Found(Dict{{{"rows", List{{1.0, -infinity}}}}}),
            "/rows/1: JSON cannot hold NaN or infinity");
  EXPECT_EQ(Found(Dict{{{"a/b~", Tuple{{Bytes{"x"}}}}}}), "/a~1b~0/0: JSON cannot hold bytes");
  EXPECT_EQ(Found(Dict{{{"d", Dict{{{1, 2}}}}}}), "/d: JSON cannot hold a key that is not a str");
  EXPECT_EQ(Found(List{{BigInt{std::string(1787, '\x01')}}}),
            "/0: JSON cannot hold an int of more than 4300 digits");
}

Value Nested(int levels) {
  Value value;
  for (int i = 0; i < levels; ++i) value = List{{std::move(value)}};
  return value;
}

TEST(JsonMisfitTest, LongIntsAreAddedUp) {
  const BigInt long_int{std::string(1700, '\x01')};
  EXPECT_EQ(Found(List{std::vector<Value>(100, Value(long_int))}), "none");
  EXPECT_TRUE(
      Found(List{std::vector<Value>(200, Value(long_int))}).contains("too many digits together"));
}

TEST(JsonMisfitTest, LevelsAroundTheValueCount) {
  EXPECT_EQ(Found(Nested(kMaxValueDepth)), "none");
  EXPECT_TRUE(Found(Nested(kMaxValueDepth + 1)).contains("nested too deeply"));
  EXPECT_FALSE(FindJsonMisfit(Nested(kMaxValueDepth - 2), 2));
  EXPECT_TRUE(FindJsonMisfit(Nested(kMaxValueDepth - 1), 2));
  const Dict dict{{{"a", Nested(kMaxValueDepth - 1)}}};
  EXPECT_FALSE(FindJsonMisfit(dict));
  EXPECT_TRUE(FindJsonMisfit(dict, 1));
}

TEST(JsonMisfitTest, DepthIsBounded) {
  Value deep;
  for (int i = 0; i < 1000; ++i) deep = List{{std::move(deep)}};
  EXPECT_TRUE(FindJsonMisfit(deep)->reason.contains("nested too deeply"));
}

}  // namespace
}  // namespace caisson
