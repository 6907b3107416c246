#include "tools/call_reader.h"

#include <gtest/gtest.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

class CallReaderTest : public ::testing::Test {
 protected:
  static ToolSet MakeTools() {
    auto tool =
        Tool::Make({.name = "send",
                    .input_schema = *ParseJson(R"({"properties":{"to":{"type":"string"}}})"),
                    .approval = Approval::Always()},
                   Inline([](const Dict&) -> Result<Value> { return Value(); }));
    return ToolSet({*tool});
  }
  static ToolCall Packed(const std::string& tool, const Value& positional, const Dict& keywords) {
    ToolCall call{.seq = 7, .tool = tool};
    EXPECT_TRUE(EncodeValue(List{{Value(tool), positional, keywords}}, call.packed));
    return call;
  }
  const ToolSet tools_ = MakeTools();
};

TEST_F(CallReaderTest, ArgumentsAreBoundByName) {
  const ReadCall read = Read(Packed("send", List{{Value("ann")}}, Dict{}), tools_);
  EXPECT_FALSE(read.refused);
  EXPECT_TRUE(read.needs_approval);
  EXPECT_EQ(read.arguments, Object({{"to", Value("ann")}}));
}

TEST_F(CallReaderTest, ArgumentsThatTakeTooMuchMemoryAreRefusedWithTheLimit) {
  const ReadCall read =
      Read(Packed("send", List{{Value(List{std::vector<Value>(1'000'000)})}}, Dict{}), tools_);
  ASSERT_TRUE(read.refused);
  EXPECT_EQ(read.refused->type, "LimitError");
  EXPECT_NE(read.refused->message.find(std::to_string(kMaxDecodedBytes)), std::string::npos);
  EXPECT_TRUE(read.arguments.items.empty());
}

TEST_F(CallReaderTest, ARefusedCallIsJournaledWithTheArgumentsThatItCameWith) {
  for (const bool packed : {true, false}) {
    ToolCall call = Packed("send", List{{Value(std::int64_t{1})}}, Object({{"cc", Value("bob")}}));
    if (!packed) {
      ASSERT_TRUE(Unpack(call));
      call.packed.clear();
    }
    const JournaledCall journaled = ToJournal(7, "send", Read(std::move(call), tools_));
    ASSERT_TRUE(journaled.refused);
    EXPECT_NE(journaled.arguments->text.find("\"bob\""), std::string::npos);
    EXPECT_NE(journaled.arguments->text.find("[1]"), std::string::npos);
  }
}

TEST_F(CallReaderTest, AJournaledCallHasTheTextThatReadsBackAsItsArguments) {
  const JournaledCall journaled =
      ToJournal(7, "send", Read(Packed("send", List{}, Object({{"to", Value("ann")}})), tools_));
  EXPECT_FALSE(journaled.refused);
  EXPECT_TRUE(journaled.needs_approval);
  EXPECT_EQ(journaled.arguments->text, R"({"to":"ann"})");
  EXPECT_EQ(*ParseArguments(journaled.arguments->text, journaled.arguments->digest),
            Object({{"to", Value("ann")}}));
}

TEST_F(CallReaderTest, ArgumentsThatCannotBeShownAreRefused) {
  // Half of a surrogate pair is not text and cannot be shown.
  ReadCall read{.arguments = Object({{"to", Value("\xed\xa0\x80")}})};
  const JournaledCall journaled = ToJournal(7, "send", std::move(read));
  ASSERT_TRUE(journaled.refused);
  EXPECT_EQ(journaled.refused->type, "TypeError");
}

TEST_F(CallReaderTest, ACallOfAnUnknownToolIsRefused) {
  const ReadCall read = Read(Packed("sned", List{}, Dict{}), tools_);
  ASSERT_TRUE(read.refused);
  EXPECT_EQ(read.refused->type, "LookupError");
  EXPECT_EQ(read.tool, nullptr);
}

TEST_F(CallReaderTest, TheDecodingEstimateIsNeverTooLow) {
  for (const Value& value :
       {Value(List{std::vector<Value>(1000)}),
        Value(List{std::vector<Value>(500, Value(List{{Value()}}))}), Value(Dict{{{"a", Value()}}}),
        Value(std::string(5000, 'x')), Value(Tuple{})}) {
    std::string bytes;
    ASSERT_TRUE(EncodeValue(value, bytes));
    DecodeBudget budget;
    ASSERT_TRUE(DecodeValue(bytes, budget));
    EXPECT_LE(budget.used_bytes(), MostDecodedBytes(bytes.size())) << bytes.size();
  }
  EXPECT_EQ(MostDecodedBytes(8u << 20), kMaxDecodedBytes);
}

}  // namespace
}  // namespace caisson
