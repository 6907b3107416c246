#include "tools/mcp/upstream_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/mcp/upstream_answer.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Dict Fields(std::string_view json) {
  return std::get<Dict>(ParseJson(json)->variant());
}

std::optional<ProgressNotice> Progress(std::string_view params) {
  return ReadProgress({.method = std::string(kProgress), .params = Fields(params)});
}

TEST(UpstreamProgressTest, ReadsTheProgressOfACall) {
  const auto notice =
      Progress(R"({"progressToken":7,"progress":3,"total":10,"message":"copying"})");
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->token, Value(7));
  EXPECT_EQ(notice->progress.done, 3);
  EXPECT_EQ(notice->progress.total, 10);
  EXPECT_EQ(notice->progress.message, "copying");
}

TEST(UpstreamProgressTest, MalformedProgressIsIgnored) {
  for (const char* params :
       {R"({})", R"({"progress":1})", R"({"progressToken":7})",
        R"({"progressToken":7,"progress":"1"})", R"({"progressToken":7,"progress":null})",
        R"({"progressToken":7,"progress":1e999})"}) {
    const auto parsed = ParseJson(params);
    if (parsed) EXPECT_FALSE(Progress(params)) << params;
  }
  EXPECT_FALSE(ReadProgress(
      {.method = "notifications/other", .params = Fields(R"({"progressToken":7,"progress":1})")}));
  EXPECT_EQ(Progress(R"({"progressToken":7,"progress":1,"total":"x"})")->progress.total,
            std::nullopt);
}

TEST(UpstreamProgressTest, MessagesAreBounded) {
  const auto notice = Progress(R"({"progressToken":7,"progress":1,"message":")" +
                               std::string(100'000, 'x') + R"("})");
  ASSERT_TRUE(notice);
  EXPECT_LE(notice->progress.message.size(), 500u);
}

TEST(UpstreamProgressTest, AProgressTokenIsAddedToTheExistingMeta) {
  Dict params = Fields(R"({"name":"x","_meta":{"a":1}})");
  AddProgressToken(params, Value(5));
  EXPECT_EQ(*ToJson(Value(params)), R"({"name":"x","_meta":{"a":1,"progressToken":5}})");
  Dict bare;
  AddProgressToken(bare, Value("t"));
  EXPECT_EQ(*ToJson(Value(bare)), R"({"_meta":{"progressToken":"t"}})");
}

TEST(UpstreamMessagesTest, RequestsOfAServerAreRefusedExceptPing) {
  EXPECT_THAT(ReplyToServer({.id = Value(1), .method = "ping"}), HasSubstr(R"("result":{})"));
  const std::string refusal = ReplyToServer({.id = Value(1), .method = "sampling/createMessage"});
  EXPECT_THAT(refusal, HasSubstr("-32601"));
  EXPECT_THAT(refusal, Not(HasSubstr("result")));
}

Value Returned(std::string_view result) {
  const ToolAnswer answer = AnswerOf(Fields(result));
  const auto* value = std::get_if<Value>(&answer);
  EXPECT_NE(value, nullptr) << result;
  return value == nullptr ? Value() : *value;
}

std::string Raised(std::string_view result) {
  const ToolAnswer answer = AnswerOf(Fields(result));
  const auto* raised = std::get_if<ToolRaised>(&answer);
  EXPECT_NE(raised, nullptr) << result;
  return raised == nullptr ? "" : raised->message;
}

TEST(UpstreamAnswerTest, StructuredContentIsTheValue) {
  EXPECT_EQ(Returned(R"({"content":[{"type":"text","text":"{}"}],"structuredContent":{"a":[1]}})"),
            *ParseJson(R"({"a":[1]})"));
}

TEST(UpstreamAnswerTest, BlocksAreTextsAndBytes) {
  EXPECT_EQ(Returned(R"({"content":[{"type":"text","text":"a"}]})"), Value("a"));
  EXPECT_EQ(Returned(R"({"content":[{"type":"image","data":"AAEC"}]})"),
            Value(Bytes{std::string("\0\1\2", 3)}));
  EXPECT_EQ(Returned(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})"),
            Value(List{{Value("a"), Value("b")}}));
  EXPECT_EQ(Returned(R"({"content":[]})"), Value());
}

TEST(UpstreamAnswerTest, InvalidBlocksStayUnchanged) {
  EXPECT_EQ(Returned(R"({"content":[{"type":"image","data":"!"}]})"),
            *ParseJson(R"({"type":"image","data":"!"})"));
  EXPECT_EQ(Returned(R"({"content":[5]})"), Value(5));
  EXPECT_EQ(Returned(R"({"content":7})"), Value());
}

TEST(UpstreamAnswerTest, FailuresAndQuestionsRaise) {
  EXPECT_EQ(Raised(R"({"isError":true,"content":[{"type":"text","text":"no"}]})"), "no");
  EXPECT_THAT(Raised(R"({"resultType":"input_required","inputRequests":{}})"),
              HasSubstr("asks for input"));
}

}  // namespace
}  // namespace caisson
