#include "model/anthropic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/stream_for_test.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::unique_ptr<Dialect> kAnthropic = MakeAnthropic({.model = "m"});

std::string Event(std::string_view type, std::string_view rest = "") {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\"" +
         std::string(rest.empty() ? "" : ",") + std::string(rest) + "}\n\n";
}
std::string Begun(int index, std::string_view block) {
  return Event("content_block_start",
               "\"index\":" + std::to_string(index) + ",\"content_block\":" + std::string(block));
}
std::string Piece(int index, std::string_view delta) {
  return Event("content_block_delta",
               "\"index\":" + std::to_string(index) + ",\"delta\":" + std::string(delta));
}
std::string Stopped(std::string_view reason) {
  return Event("message_delta", R"("delta":{"stop_reason":")" + std::string(reason) +
                                    R"("},"usage":{"output_tokens":12})") +
         Event("message_stop");
}
const std::string kStart = Event(
    "message_start",
    R"("message":{"model":"m-1","usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}})");
const std::string kText = kStart + Begun(0, R"({"type":"text","text":""})") + Event("ping") +
                          Piece(0, R"({"type":"text_delta","text":"Hel"})") +
                          Piece(0, R"({"type":"text_delta","text":"lo"})") +
                          Event("content_block_stop", "\"index\":0");

std::vector<std::string> Items(std::string_view stream) {
  const auto items = Written(Replay(*kAnthropic, stream, kEachByte).reply);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    const Replayed replayed = Replay(*kAnthropic, stream, cut);
    EXPECT_EQ(Written(replayed.reply), items) << "cut at " << cut;
  }
  return items;
}

ModelReply Whole(std::string_view stream) {
  auto replayed = Replay(*kAnthropic, stream, kEachByte);
  EXPECT_TRUE(replayed.reply) << replayed.reply.error().message();
  return *std::move(replayed.reply);
}

TEST(AnthropicStreamTest, JoinsTextAndCountsTokens) {
  EXPECT_THAT(Items(kText + Stopped("end_turn")), ElementsAre("text \"Hello\""));
  const ModelReply reply = Whole(kText + Stopped("end_turn"));
  EXPECT_EQ(reply.model, "m-1");
  EXPECT_EQ(reply.usage.input, 7u);
  EXPECT_EQ(reply.usage.cached_input, 4u);
  EXPECT_EQ(reply.usage.output, 12u);
}

TEST(AnthropicStreamTest, ReadsParallelCalls) {
  const std::string stream =
      kText + Begun(1, R"({"type":"tool_use","id":"t1","name":"f","input":{}})") +
      Piece(1, R"({"type":"input_json_delta","partial_json":""})") +
      Piece(1, R"({"type":"input_json_delta","partial_json":"{\"a\""})") +
      Begun(2, R"({"type":"tool_use","id":"t1","name":"g","input":{}})") +
      Piece(1, R"({"type":"input_json_delta","partial_json":":1}"})") +
      Begun(3, R"({"type":"tool_use","id":"t3","name":"h","input":{"x":[1]}})") +
      Stopped("tool_use");
  EXPECT_THAT(Items(stream), ElementsAre("text \"Hello\"", R"(call t1 f {"a":1})",
                                         "call call_1_2 g {}", R"(call t3 h {"x":[1]})"));
  EXPECT_EQ(Whole(stream).finish, Finish::kToolCalls);
}

TEST(AnthropicStreamTest, KeepsThinkingForLaterRequests) {
  EXPECT_THAT(
      Items(kStart + Begun(0, R"({"type":"thinking","thinking":"","signature":""})") +
            Piece(0, R"({"type":"thinking_delta","thinking":"Hm"})") +
            Piece(0, R"({"type":"signature_delta","signature":"ab"})") +
            Piece(0, R"({"type":"signature_delta","signature":"c"})") +
            Begun(1, R"({"type":"redacted_thinking","data":"xyz"})") + Stopped("end_turn")),
      ElementsAre("reasoning \"Hm\" anthropic:abc", "reasoning \"\" anthropic-redacted:xyz"));
}

TEST(AnthropicStreamTest, TextsThatFollowEachOtherAreOneMessage) {
  EXPECT_THAT(Items(kText + Begun(1, R"({"type":"text","text":" you"})") +
                    Begun(2, R"({"type":"server_tool_use","id":"s","name":"web_search"})") +
                    Piece(2, R"({"type":"input_json_delta","partial_json":"{}"})") +
                    Begun(3, R"({"type":"text","text":""})") +
                    Piece(3, R"({"type":"citations_delta","citation":{}})") + Stopped("end_turn")),
              ElementsAre("text \"Hello you\""));
}

TEST(AnthropicStreamTest, KnowsWhyTheReplyEnded) {
  EXPECT_EQ(Whole(Stopped("max_tokens")).finish, Finish::kLength);
  EXPECT_EQ(Whole(Stopped("refusal")).finish, Finish::kContentFilter);
  EXPECT_EQ(Whole(Stopped("stop_sequence")).finish, Finish::kStop);
}

TEST(AnthropicStreamTest, ErrorsInTheMiddleAreReported) {
  EXPECT_THAT(Items(kText + Event("error",
                                  R"("error":{"type":"overloaded_error","message":"Overloaded"})")),
              ElementsAre(HasSubstr("Overloaded")));
}

TEST(AnthropicStreamTest, ACutStreamIsUnavailableUnlessItsReasonToStopHasArrived) {
  EXPECT_EQ(Replay(*kAnthropic, kText, 9).reply.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(Items(kText + Event("message_delta", R"("delta":{"stop_reason":"end_turn"})")),
              ElementsAre("text \"Hello\""));
}

TEST(AnthropicStreamTest, FieldsOfAnotherTypeAreIgnored) {
  EXPECT_THAT(
      Items(Event("message_start", "\"message\":7") + Begun(0, "7") + Begun(1, R"({"type":7})") +
            Piece(9, R"({"type":"text_delta","text":"x"})") + Begun(2, R"({"type":"thinking"})") +
            Piece(2, R"({"type":"text_delta","text":"x"})") + Event("message_delta") +
            Stopped("end_turn")),
      ElementsAre("reasoning \"\""));
  EXPECT_THAT(Items(Stopped("end_turn")), IsEmpty());
}

TEST(AnthropicReplyTest, ReadsAnAnswerThatIsNotStreamed) {
  EXPECT_THAT(
      Items(
          R"({"type":"message","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1},)"
          R"("content":[{"type":"thinking","thinking":"Hm","signature":"s"},{"type":"text","text":"Hi"},)"
          R"({"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]})"),
      ElementsAre("reasoning \"Hm\" anthropic:s", "text \"Hi\"", R"(call t1 f {"a":1})"));
}

std::string Body(const ModelRequest& request) {
  const auto text = ToJson(AnthropicBody(request, {.model = "m"}));
  return text ? *text : text.error().message();
}

TEST(AnthropicRequestTest, WritesAConversation) {
  const ModelRequest request{
      .instructions = "Be brief.",
      .items = {MessageItem{Role::kUser, {TextPart{"Hi"}, TextPart{" "}}},
                ReasoningItem{"Hm", "anthropic:sig"}, ReasoningItem{"", "anthropic-redacted:xyz"},
                ReasoningItem{"of another API", "openai-responses:rs:xyz"},
                MessageItem{Role::kAssistant, {TextPart{"I look."}}}, ToolCallItem{"c.1", "f", ""},
                ToolCallItem{"c2", "g", "not JSON"},
                ToolResultItem{"c.1", {TextPart{"one"}, DataPart{"image/png", "abc"}}},
                ToolResultItem{"c2", {}, true}, MessageItem{Role::kDeveloper, {TextPart{"Now."}}},
                MessageItem{Role::kUser, {TextPart{"And?"}}}}};
  EXPECT_EQ(
      Body(request),
      R"({"model":"m","max_tokens":16384,"messages":[{"role":"user","content":[{"type":"text",)"
      R"("text":"Hi"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm",)"
      R"("signature":"sig"},{"type":"redacted_thinking","data":"xyz"},{"type":"text",)"
      R"("text":"I look."},{"type":"tool_use","id":"c_1","name":"f","input":{}},)"
      R"({"type":"tool_use","id":"c2","name":"g","input":{"malformed":"not JSON"}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c_1","content":[)"
      R"({"type":"text","text":"one"},{"type":"image","source":{"type":"base64",)"
      R"("media_type":"image/png","data":"YWJj"}}]},{"type":"tool_result","tool_use_id":"c2",)"
      R"("is_error":true},{"type":"text","text":"And?"}]}],"system":"Be brief.\n\nNow.",)"
      R"("stream":true})");
}

TEST(AnthropicRequestTest, WritesTools) {
  ModelRequest request{.tools = {{.name = "f"}},
                       .tool_choice = {.mode = ToolChoice::Mode::kRequired},
                       .parallel_tool_calls = false};
  EXPECT_THAT(Body(request),
              HasSubstr(R"("tools":[{"name":"f","description":"","input_schema":{}}],)"
                        R"("tool_choice":{"type":"any","disable_parallel_tool_use":true})"));
  request.tool_choice.mode = ToolChoice::Mode::kNone;
  EXPECT_THAT(Body(request), HasSubstr(R"("tool_choice":{"type":"none"})"));
}

}  // namespace
}  // namespace caisson::model
