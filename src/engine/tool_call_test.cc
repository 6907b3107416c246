#include <gtest/gtest.h>

#include "engine/engine.h"
#include "wire/object.h"

namespace caisson {
namespace {

ToolCall Packed(const Value& message) {
  ToolCall call{.seq = 3, .tool = "send"};
  EXPECT_TRUE(EncodeValue(message, call.packed));
  return call;
}

TEST(ToolCallTest, UnpackingGivesTheArguments) {
  const Dict keywords = Object({{"to", Value("ann")}});
  for (const Value& positional :
       {Value(List{{Value(std::int64_t{1})}}), Value(Tuple{{Value(std::int64_t{1})}})}) {
    ToolCall call = Packed(List{{Value("send"), positional, keywords}});
    ASSERT_TRUE(Unpack(call));
    EXPECT_EQ(call.positional.items.size(), 1u);
    EXPECT_EQ(call.keywords, keywords);
  }
}

TEST(ToolCallTest, ACallThatWasNeverPackedStaysAsItIs) {
  ToolCall call{.tool = "send", .keywords = Object({{"to", Value("ann")}})};
  ASSERT_TRUE(Unpack(call));
  EXPECT_EQ(call.keywords.items.size(), 1u);
}

TEST(ToolCallTest, AnythingElseIsRefused) {
  for (const Value& message :
       {Value("send"), Value(List{}), Value(List{{Value("send"), Value(List{})}}),
        Value(List{{Value(), Value(List{}), Value(Dict{})}}),
        Value(List{{Value("send"), Value(Dict{}), Value(Dict{})}}),
        Value(List{{Value("send"), Value(List{}), Value(List{})}})}) {
    ToolCall call = Packed(message);
    const auto unpacked = Unpack(call);
    ASSERT_FALSE(unpacked);
    EXPECT_EQ(unpacked.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(ToolCallTest, ArgumentsThatTakeTooMuchMemoryAreRefused) {
  ToolCall call =
      Packed(List{{Value("send"), Value(List{std::vector<Value>(500'000)}), Value(Dict{})}});
  const auto unpacked = Unpack(call);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace caisson
