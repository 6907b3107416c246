#include "model/openai_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/stream_for_test.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::unique_ptr<Dialect> kChat = MakeOpenAiChat({.model = "m"});

// Events with these choices' deltas.
std::string Chunk(std::string_view delta, std::string_view rest = "") {
  return R"(data: {"object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":)" +
         std::string(delta) + std::string(rest) + "}]}\n\n";
}
std::string Calls(std::string_view calls) {
  return Chunk(R"({"tool_calls":[)" + std::string(calls) + "]}");
}
std::string Ended(std::string_view reason) {
  return Chunk("{}", R"(,"finish_reason":")" + std::string(reason) + "\"");
}
const std::string kDone = "data: [DONE]\n\n";

// Replays the stream cut at every byte, and returns the items, which must always be the same.
std::vector<std::string> Items(std::string_view stream, const Dialect& dialect = *kChat) {
  const Replayed bytewise = Replay(dialect, stream, kEachByte);
  const auto items = Written(bytewise.reply);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    const Replayed replayed = Replay(dialect, stream, cut);
    EXPECT_EQ(Written(replayed.reply), items) << "cut at " << cut;
    if (!replayed.reply) continue;
    EXPECT_EQ(Assembled(replayed.deltas), items) << "cut at " << cut;
  }
  return items;
}

ModelReply Whole(std::string_view stream) {
  auto replayed = Replay(*kChat, stream, kEachByte);
  EXPECT_TRUE(replayed.reply) << replayed.reply.error().message();
  return *std::move(replayed.reply);
}

TEST(ChatStreamTest, JoinsText) {
  EXPECT_THAT(Items(Chunk(R"({"role":"assistant","content":""})") + Chunk(R"({"content":"Hel"})") +
                    Chunk(R"({"content":"lo"})") + Ended("stop") + kDone),
              ElementsAre("text \"Hello\""));
}

TEST(ChatStreamTest, ToleratesCommentsLineEndsEmptyDeltasAndAByteOrderMark) {
  EXPECT_THAT(
      Items("\xef\xbb\xbf: ping\r\n\r\nevent: x\r\ndata: {\"choices\":[{\"delta\":{}}]}\r\n\r\n"
            "data:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\rdata: \n\n"
            "data: {\"choices\":[{\"delta\":{\"content\":null},\"finish_reason\":\"stop\"}]}"
            "\r\n\r\n: end\n"),
      ElementsAre("text \"a\""));
}

TEST(ChatStreamTest, BlanksAtTheStartCountForNothing) {
  EXPECT_THAT(Items(" \r\n\t " + Chunk(R"({"content":"a"})") + Ended("stop")),
              ElementsAre("text \"a\""));
  EXPECT_THAT(Items("\n {\"choices\":[{\"message\":{\"content\":\"a\"}}]}"),
              ElementsAre("text \"a\""));
}

TEST(ChatStreamTest, NeedsNoDone) {
  EXPECT_THAT(Items(Chunk(R"({"content":"a"})") + Ended("stop")), ElementsAre("text \"a\""));
}

TEST(ChatStreamTest, ReadsTheUsageThatFollows) {
  const ModelReply reply =
      Whole(Chunk(R"({"content":"a"})") + Ended("stop") +
            R"(data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,)"
            R"("prompt_tokens_details":{"cached_tokens":3},)"
            R"("completion_tokens_details":{"reasoning_tokens":2}}})"
            "\n\n");
  EXPECT_EQ(reply.usage.input, 7u);
  EXPECT_EQ(reply.usage.cached_input, 3u);
  EXPECT_EQ(reply.usage.output, 5u);
  EXPECT_EQ(reply.usage.reasoning, 2u);
  EXPECT_EQ(reply.model, "m-1");
}

TEST(ChatStreamTest, NothingIsReadAfterTheUsage) {
  EXPECT_THAT(
      Items(Ended("stop") + "data: {\"choices\":[],\"usage\":{}}\n\nnot JSON\n\ndata: x\n\n"),
      IsEmpty());
}

TEST(ChatStreamTest, JoinsFragmentedArguments) {
  const std::string stream =
      Calls(R"({"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":""}})") +
      Calls(R"({"index":0,"function":{"arguments":"{\"a\""}})") +
      Calls(R"({"index":0,"function":{"arguments":": 1}"}})") + Ended("tool_calls") + kDone;
  EXPECT_THAT(Items(stream), ElementsAre(R"(call c1 add {"a": 1})"));
  EXPECT_EQ(Whole(stream).finish, Finish::kToolCalls);
}

TEST(ChatStreamTest, KeepsParallelCallsApart) {
  EXPECT_THAT(
      Items(
          Calls(R"({"index":0,"id":"c1","function":{"name":"add","arguments":"{\"a\":"}},)"
                R"({"index":1,"id":"c2","function":{"name":"sub","arguments":"{"}})") +
          Calls(
              R"({"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"1}"}})") +
          Ended("tool_calls")),
      ElementsAre(R"(call c1 add {"a":1})", "call c2 sub {}"));
}

TEST(ChatStreamTest, CallsWithoutIndexAreFoundByTheirIds) {
  EXPECT_THAT(Items(Calls(R"({"id":"c1","function":{"name":"f","arguments":"{\"a\":"}})") +
                    Calls(R"({"id":"c2","function":{"name":"f","arguments":"{"}})") +
                    Calls(R"({"id":"c1","function":{"arguments":"1}"}})") +
                    Calls(R"({"id":"c2","function":{"arguments":"}"}})") + Ended("stop")),
              ElementsAre(R"(call c1 f {"a":1})", "call c2 f {}"));
}

TEST(ChatStreamTest, CallsWithoutIndexAndIdAreFoundByTheirOrder) {
  EXPECT_THAT(
      Items(Calls(R"({"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g"}})") +
            Calls(R"({"function":{}},{"function":{"arguments":"{\"b\":2}"}})") + Ended("stop")),
      ElementsAre("call call_0_0 f {}", R"(call call_1_1 g {"b":2})"));
}

TEST(ChatStreamTest, OneIndexForAllCallsIsUnderstood) {
  EXPECT_THAT(Items(Calls(R"({"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}})") +
                    Calls(R"({"index":0,"id":"c2","function":{"name":"f","arguments":"{}"}})") +
                    Calls(R"({"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}})") +
                    Ended("stop")),
              ElementsAre("call c1 f {}", "call c2 f {}", R"(call call_2_2 f {"x":1})"));
}

TEST(ChatStreamTest, ARepeatedIdAndNameContinueACall) {
  EXPECT_THAT(Items(Calls(R"({"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}})") +
                    Calls(R"({"index":0,"id":"c1","function":{"name":"f","arguments":":1}"}})") +
                    Ended("stop")),
              ElementsAre(R"(call c1 f {"a":1})"));
}

TEST(ChatStreamTest, IdsAreMadeUnique) {
  const std::string stream =
      Calls(R"({"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}},)"
            R"({"index":1,"id":"c1","function":{"name":"g","arguments":"{}"}})") +
      Ended("stop");
  EXPECT_THAT(Items(stream), ElementsAre("call c1 f {}", "call call_1_1 g {}"));
  EXPECT_THAT(Written(Replay(*kChat, stream, 9, {"c1", "call_1_0"}).reply),
              ElementsAre("call call_2_0 f {}", "call call_3_1 g {}"));
}

TEST(ChatStreamTest, TheNameMayComeAfterArguments) {
  EXPECT_THAT(
      Items(Calls(R"({"index":0,"id":"c1","function":{"arguments":"{\"a\""}})") +
            Calls(R"({"index":0,"function":{"name":"f","arguments":":1}"}})") + Ended("stop")),
      ElementsAre(R"(call c1 f {"a":1})"));
}

TEST(ChatStreamTest, ACallWithoutNameIsAnError) {
  EXPECT_THAT(
      Items(Calls(R"({"index":0,"id":"c1","function":{"arguments":"{}"}})") + Ended("stop")),
      ElementsAre(HasSubstr("without a name")));
}

TEST(ChatStreamTest, ArgumentsMayBeMissingOrAnObject) {
  EXPECT_THAT(
      Items(Calls(R"({"index":0,"id":"c1","function":{"name":"f"}},)"
                  R"({"index":1,"id":"c2","function":{"name":"g","arguments":{"a":[1]}}})") +
            Ended("stop")),
      ElementsAre("call c1 f {}", R"(call c2 g {"a":[1]})"));
}

TEST(ChatStreamTest, ReadsReasoningUnderEachOfItsNames) {
  EXPECT_THAT(
      Items(Chunk(R"({"reasoning_content":"Hm","reasoning":"Hm"})") +
            Chunk(R"({"reasoning":"m"})") +
            Chunk(R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"."}]},)"
                  R"({"type":"text","text":"Yes"}]})") +
            Ended("stop")),
      ElementsAre("reasoning \"Hmm.\"", "text \"Yes\""));
}

TEST(ChatStreamTest, ReadsARefusal) {
  EXPECT_THAT(Items(Chunk(R"({"refusal":"No"})") + Chunk(R"({"refusal":"!"})") + Ended("stop")),
              ElementsAre("refusal \"No!\""));
}

TEST(ChatStreamTest, KnowsWhyTheReplyEnded) {
  EXPECT_EQ(Whole(Ended("length")).finish, Finish::kLength);
  EXPECT_EQ(Whole(Ended("content_filter")).finish, Finish::kContentFilter);
  EXPECT_EQ(Whole(Ended("eos")).finish, Finish::kStop);
}

TEST(ChatStreamTest, OtherChoicesAreIgnored) {
  EXPECT_THAT(Items(Chunk(R"({"content":"a"})") +
                    "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}},7]}\n\n" +
                    Ended("stop")),
              ElementsAre("text \"a\""));
}

TEST(ChatStreamTest, ACutStreamIsUnavailable) {
  for (const std::string end : {"", "data: {\"choi", "data: [DONE]\n\n"}) {
    const auto replayed = Replay(*kChat, Chunk(R"({"content":"a"})") + end, 5);
    ASSERT_FALSE(replayed.reply) << end;
    EXPECT_EQ(replayed.reply.error().code(), ErrorCode::kUnavailable);
  }
  EXPECT_EQ(Replay(*kChat, "", 1).reply.error().code(), ErrorCode::kUnavailable);
}

TEST(ChatStreamTest, AnErrorInTheMiddleIsReported) {
  EXPECT_THAT(Items(Chunk(R"({"content":"a"})") +
                    "data: {\"error\":{\"message\":\"GPU lost\",\"type\":\"server_error\"}}\n\n"),
              ElementsAre(HasSubstr("GPU lost")));
  const auto code = [](std::string_view error) {
    return Replay(*kChat, "data: {\"error\":" + std::string(error) + "}\n\n", 1)
        .reply.error()
        .code();
  };
  EXPECT_EQ(code("\"out of memory\""), ErrorCode::kUnavailable);
  EXPECT_EQ(code(R"({"type":"rate_limit_error"})"), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code(R"({"code":400,"message":"bad"})"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"code":"invalid_api_key"})"), ErrorCode::kPermissionDenied);
}

TEST(ChatStreamTest, ACharacterThatIsCutIsReplaced) {
  EXPECT_THAT(
      Items(Chunk("{\"content\":\"a\xe2\x82\"}") + Chunk(R"({"content":"\ud83d"})") +
            Chunk(R"({"content":"\ude00 \ud83d\ude00 \\ud83d"})") + Ended("stop")),
      ElementsAre(
          "text \"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x98\x80 \\ud83d\""));
}

TEST(ChatStreamTest, WhatIsNoJsonObjectIsUnavailable) {
  for (const std::string_view data : {"nonsense", "[1]", "{\"a\":1", "{\"a\":1}{}", "7"}) {
    const auto replayed = Replay(*kChat, "data: " + std::string(data) + "\n\n" + Ended("stop"), 3);
    ASSERT_FALSE(replayed.reply) << data;
    EXPECT_EQ(replayed.reply.error().code(), ErrorCode::kUnavailable) << data;
  }
}

TEST(ChatStreamTest, FieldsOfAnotherTypeAreIgnored) {
  EXPECT_THAT(
      Items("data: {\"model\":7,\"usage\":[],\"choices\":{}}\n\n" + Chunk("7") +
            Chunk(R"({"content":7,"refusal":[],"tool_calls":{},"reasoning_content":{}})") +
            Calls(R"(7,{"index":"0","function":[]},{"function":{"name":1,"arguments":2}})") +
            Chunk("{}", ",\"finish_reason\":7") + Ended("stop")),
      IsEmpty());
}

TEST(ChatStreamTest, DepthAndSizeAreBounded) {
  const std::string deep = Chunk("{\"x\":" + std::string(5000, '[') + std::string(5000, ']') + "}");
  EXPECT_FALSE(Replay(*kChat, deep + Ended("stop"), 100).reply);
  const auto code = [](std::string_view stream) {
    return Replay(*kChat, stream, 4000, {}, 1000).reply.error().code();
  };
  EXPECT_EQ(code("data: " + std::string(9000, 'x')), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code("{\"choices\":\"" + std::string(9000, 'x')), ErrorCode::kResourceExhausted);
  std::string many;
  for (int i = 0; i < 10; ++i) many += Chunk("{\"content\":\"" + std::string(150, 'x') + "\"}");
  EXPECT_EQ(code(many + Ended("stop")), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code(std::string(20'000, '\n')), ErrorCode::kResourceExhausted);
}

TEST(ChatStreamTest, TheNumberOfCallsIsBounded) {
  std::string stream;
  for (int i = 0; i < 1100; ++i) {
    stream += Calls("{\"index\":" + std::to_string(i) + ",\"function\":{\"name\":\"f\"}}");
  }
  EXPECT_EQ(Replay(*kChat, stream, 4000).reply.error().code(), ErrorCode::kResourceExhausted);
}

TEST(ChatReplyTest, ReadsAnAnswerThatIsNotStreamed) {
  EXPECT_THAT(
      Items(R"({"model":"m","choices":[{"message":{"content":"Hi","reasoning_content":"Hm",)"
            R"("tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}},)"
            R"({"id":"c2","function":{"name":"f","arguments":"{}"}}]},)"
            R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}})"),
      ElementsAre("reasoning \"Hm\"", "text \"Hi\"", "call c1 f {}", "call c2 f {}"));
  EXPECT_THAT(Items(R"({"choices":[]})"), ElementsAre(HasSubstr("no message")));
  EXPECT_THAT(Items(R"({"error":{"message":"bad"}})"), ElementsAre(HasSubstr("bad")));
}

std::string Body(const ModelRequest& request, DialectSettings settings = {.model = "m"}) {
  const auto text = ToJson(ChatBody(request, settings));
  return text ? *text : text.error().message();
}

TEST(ChatRequestTest, WritesAConversation) {
  const ModelRequest request{
      .instructions = "Be brief.",
      .items = {MessageItem{Role::kUser, {TextPart{"Hi"}}}, ReasoningItem{.text = "Hm"},
                MessageItem{Role::kAssistant, {TextPart{"I look."}}}, ToolCallItem{"c1", "f", ""},
                ToolCallItem{"c2", "g", "{\"a\":1}"}, ToolResultItem{"c1", {TextPart{"one"}}},
                ToolResultItem{"c2", {TextPart{"two\xff"}}},
                MessageItem{Role::kDeveloper, {TextPart{"Now."}}}}};
  EXPECT_EQ(
      Body(request),
      R"({"model":"m","messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":"Hi"},{"role":"assistant","content":"I look.","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},)"
      R"({"id":"c2","type":"function","function":{"name":"g","arguments":"{\"a\":1}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"one"},)"
      "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\xef\xbf\xbd\"},"
      R"({"role":"system","content":"Now."}],"stream":true,)"
      R"("stream_options":{"include_usage":true}})");
}

TEST(ChatRequestTest, WritesToolsAndLimits) {
  ModelRequest request{.tools = {{.name = "f", .description = "F."}},
                       .tool_choice = {.mode = ToolChoice::Mode::kNamed, .name = "f"},
                       .parallel_tool_calls = false,
                       .max_output_tokens = 9,
                       .temperature = 0.5,
                       .top_p = 0.25};
  EXPECT_EQ(Body(request, {.model = "m", .streams = false}),
            R"({"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f",)"
            R"("description":"F.","parameters":{}}}],"tool_choice":{"type":"function",)"
            R"("function":{"name":"f"}},"parallel_tool_calls":false,"temperature":0.5,)"
            R"("top_p":0.25,"max_tokens":9})");
  EXPECT_THAT(Body(request, {.model = "m", .is_openai = true}),
              HasSubstr("\"max_completion_tokens\":9"));
}

TEST(ChatRequestTest, ImagesOfResultsFollowThem) {
  const ModelRequest request{
      .items = {ToolCallItem{"c1", "f", "{}"},
                ToolResultItem{"c1", {TextPart{"see"}, DataPart{"image/png", "abc"}}},
                MessageItem{Role::kUser, {TextPart{"And?"}}}}};
  EXPECT_THAT(
      Body(request),
      HasSubstr(R"("content":"see\n[file: image/png, 3 bytes]"},{"role":"user","content":[)"
                R"({"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]},)"
                R"({"role":"user","content":"And?"}])"));
}

}  // namespace
}  // namespace caisson::model
