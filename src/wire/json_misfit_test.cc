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

TEST(JsonMisfitTest, DepthIsBounded) {
  Value deep;
  for (int i = 0; i < 1000; ++i) deep = List{{std::move(deep)}};
  EXPECT_TRUE(FindJsonMisfit(deep)->reason.contains("nested too deeply"));
}

}  // namespace
}  // namespace caisson
