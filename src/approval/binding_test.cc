#include "approval/binding.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "wire/json.h"

namespace caisson {
namespace {

std::shared_ptr<const Tool> Made(ToolDefinition definition) {
  auto tool = Tool::Make(std::move(definition),
                         Inline([](const Dict&) -> Result<Value> { return Value(); }));
  EXPECT_TRUE(tool) << tool.error().message();
  return *tool;
}

Value Json(const char* text) {
  return *ParseJson(text);
}

Dict Arguments(const char* text) {
  return std::get<Dict>(Json(text).variant());
}

TEST(BindingTest, EveryChangeOfAToolIsAnotherTool) {
  const ToolDefinition plain{.name = "send", .input_schema = Json(R"({"type": "object"})")};
  std::vector<ToolDefinition> others(8, plain);
  others[0].name = "sent";
  others[1].description = "Sends a mail.";
  others[2].input_schema = Json(R"({"type": "object", "properties": {"to": {}}})");
  others[3].output_schema = Json("{}");
  others[4].approval = Approval::Always();
  others[5].approval = Approval::When(*Schema::Compile(Json("{}")));
  others[6].repeat = Repeat::kIdempotent;
  others[7].revision = "./other.py";
  std::set<std::string> digests = {*ToolDigest(*Made(plain))};
  for (const ToolDefinition& other : others) {
    EXPECT_TRUE(digests.insert(*ToolDigest(*Made(other))).second);
  }
  ToolDefinition slower = plain;
  slower.timeout = std::chrono::seconds(1);
  slower.max_calls_per_run = 7;
  EXPECT_EQ(*ToolDigest(*Made(slower)), *ToolDigest(*Made(plain)));
  const ToolDefinition reordered{.name = "t",
                                 .input_schema = Json(R"({"type": "object", "properties": {}})")};
  const ToolDefinition ordered{.name = "t",
                               .input_schema = Json(R"({"properties": {}, "type": "object"})")};
  EXPECT_EQ(*ToolDigest(*Made(reordered)), *ToolDigest(*Made(ordered)));
}

TEST(BindingTest, ArgumentsThatAToolCouldTellApartDiffer) {
  std::set<std::string> digests;
  const std::string nine_bytes("\0\0\0\0\0\0\0\0\1", 9);
  for (const Value& value :
       {Value(std::int64_t{1}), Value(1.0), Value(true), Value("1"), Value(Bytes{"1"}),
        Value(BigInt{nine_bytes}), Value(18446744073709551616.0), Value(std::nan("")), Value("nan"),
        Value(List{}), Value(Tuple{}), Value(Dict{}), Value(), Value(""), Value(-0.0), Value(0.0),
        Value(Dict{{{"$bytes", "MQ"}}})}) {
    const auto bound = Canonicalize(Dict{{{"x", value}}});
    ASSERT_TRUE(bound) << bound.error().message();
    EXPECT_TRUE(digests.insert(bound->digest).second) << bound->text;
  }
  EXPECT_EQ(Canonicalize(Arguments(R"({"a": 1, "b": 2})"))->digest,
            Canonicalize(Arguments(R"({"b": 2, "a": 1})"))->digest);
}

TEST(BindingTest, ArgumentsThatNobodyCouldReadAreRefused) {
  const auto bound = Canonicalize(Dict{{{"x", Value("\xed\xa0\x80")}}});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(bound.error().message(), testing::HasSubstr("UTF-8"));
}

TEST(BindingTest, ArgumentsComeBackAsTheyWere) {
  const Dict given{{{"bytes", Bytes{"\xff"}}, {"t", Tuple{{Value(1.0), Value()}}}}};
  const CanonicalArguments canonical = *Canonicalize(given);
  EXPECT_EQ(*ParseArguments(canonical.text, canonical.digest), given);
  EXPECT_FALSE(ParseArguments(canonical.text + " ", canonical.digest));
  EXPECT_FALSE(ParseArguments("{}", canonical.digest));
}

TEST(BindingTest, ACallIsBoundToAllOfIt) {
  const auto tool = Made({.name = "send"});
  const CanonicalArguments arguments = *Canonicalize(Dict{});
  const auto binding = BindCall(
      {.run = RunId("run_1"), .seq = 4, .code_digest = CodeDigest("send()")}, *tool, arguments);
  ASSERT_TRUE(binding);
  EXPECT_EQ(*binding, (CallBinding{.run = RunId("run_1"),
                                   .seq = 4,
                                   .tool = "send",
                                   .tool_digest = *ToolDigest(*tool),
                                   .arguments_digest = arguments.digest,
                                   .code_digest = CodeDigest("send()")}));
  // The same bytes have different digests as different kinds of data.
  EXPECT_NE(CodeDigest("{}"), arguments.digest);
}

}  // namespace
}  // namespace caisson
