#include "model/openai_responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/stream_for_test.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::unique_ptr<Dialect> kResponses = MakeOpenAiResponses({.model = "m"});

std::string Event(std::string_view type, std::string_view rest) {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\"" +
         std::string(rest.empty() ? "" : ",") + std::string(rest) + "}\n\n";
}
std::string Completed(std::string_view rest = "") {
  return Event("response.completed", "\"response\":{\"status\":\"completed\",\"model\":\"m-1\"" +
                                         std::string(rest) + "}");
}

std::vector<std::string> Items(std::string_view stream) {
  const auto items = Written(Replay(*kResponses, stream, kEachByte).reply);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    const Replayed replayed = Replay(*kResponses, stream, cut);
    EXPECT_EQ(Written(replayed.reply), items) << "cut at " << cut;
  }
  return items;
}

ModelReply Whole(std::string_view stream) {
  auto replayed = Replay(*kResponses, stream, kEachByte);
  EXPECT_TRUE(replayed.reply) << replayed.reply.error().message();
  return *std::move(replayed.reply);
}

const std::string kText =
    Event("response.created", R"("response":{"id":"r","status":"in_progress","error":null})") +
    Event("response.output_item.added",
          R"("output_index":0,"item":{"id":"msg_1","type":"message","content":[]})") +
    Event("response.content_part.added", R"("item_id":"msg_1","output_index":0)") +
    Event("response.output_text.delta", R"("item_id":"msg_1","output_index":0,"delta":"Hel")") +
    Event("response.output_text.delta", R"("item_id":"msg_1","output_index":0,"delta":"lo")");
constexpr std::string_view kMessage =
    R"({"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hello you"}]})";

TEST(ResponsesStreamTest, JoinsTextAndCompletesItFromTheEnd) {
  const std::string stream =
      kText +
      Event("response.output_item.done", "\"output_index\":0,\"item\":" + std::string(kMessage)) +
      Completed(",\"output\":[" + std::string(kMessage) + "]");
  EXPECT_THAT(Items(stream), ElementsAre("text \"Hello you\""));
  const auto replayed = Replay(*kResponses, stream, 10);
  EXPECT_THAT(Assembled(replayed.deltas), ElementsAre("text \"Hello you\""));
  EXPECT_EQ(replayed.reply->model, "m-1");
}

TEST(ResponsesStreamTest, ReadsCallsAndTheirArguments) {
  const std::string stream =
      Event(
          "response.output_item.added",
          R"("output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":""})") +
      Event(
          "response.output_item.added",
          R"("output_index":2,"item":{"id":"fc_2","type":"function_call","call_id":"c1","name":"g"})") +
      Event("response.function_call_arguments.delta", R"("output_index":2,"delta":"{\"b\":")") +
      Event("response.function_call_arguments.delta", R"("output_index":1,"delta":"{}")") +
      Event("response.function_call_arguments.done", R"("output_index":1,"arguments":"{}")") +
      Event(
          "response.output_item.done",
          R"("output_index":2,"item":{"id":"fc_2","type":"function_call","call_id":"c1","name":"g","arguments":"{\"b\":1}"})") +
      Completed();
  EXPECT_THAT(Items(stream), ElementsAre("call c1 f {}", R"(call call_1_1 g {"b":1})"));
  EXPECT_EQ(Whole(stream).finish, Finish::kToolCalls);
}

TEST(ResponsesStreamTest, KeepsReasoningForLaterRequests) {
  EXPECT_THAT(
      Items(
          Event("response.output_item.added",
                R"("output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]})") +
          Event("response.reasoning_summary_part.added", R"("output_index":0)") +
          Event("response.reasoning_summary_text.delta",
                R"("item_id":"rs_1","output_index":0,"delta":"One")") +
          Event("response.reasoning_summary_part.added", R"("output_index":0)") +
          Event("response.reasoning_summary_text.delta", R"("output_index":0,"delta":"Two")") +
          Event(
              "response.output_item.done",
              R"("output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"xyz",)"
              R"("summary":[{"type":"summary_text","text":"One"},{"type":"summary_text","text":"Two"}]})") +
          Completed()),
      ElementsAre("reasoning \"One\n\nTwo\" openai-responses:rs_1:xyz"));
}

TEST(ResponsesStreamTest, ItemsThatWereNotStreamedComeFromTheEnd) {
  EXPECT_THAT(
      Items(
          kText +
          Completed(
              R"(,"output":[{"id":"web_1","type":"web_search_call"},)" + std::string(kMessage) +
              R"(,{"id":"fc_1","type":"function_call","call_id":"c","name":"f","arguments":"{}"}])")),
      ElementsAre("text \"Hello you\"", "call c f {}"));
}

TEST(ResponsesStreamTest, ReadsARefusal) {
  EXPECT_THAT(
      Items(
          Event("response.refusal.delta", R"("item_id":"m","output_index":0,"delta":"No")") +
          Completed(
              R"(,"output":[{"id":"m","type":"message","content":[{"type":"refusal","refusal":"No"}]}])")),
      ElementsAre("refusal \"No\""));
}

TEST(ResponsesStreamTest, UnknownEventsAndKeepAlivesAreIgnored) {
  EXPECT_THAT(
      Items(": ping\r\n\r\n" + Event("keepalive", "") + Event("vendor:new", "\"delta\":\"x\"") +
            Event("response.output_text.delta", R"("output_index":0,"delta":"")") + kText +
            Completed() + "data: [DONE]\n\n"),
      ElementsAre("text \"Hello\""));
}

TEST(ResponsesStreamTest, KnowsWhyTheReplyEnded) {
  const auto finish = [](std::string_view reason) {
    return Whole(Event("response.incomplete",
                       R"("response":{"status":"incomplete","incomplete_details":{"reason":")" +
                           std::string(reason) + "\"}}"))
        .finish;
  };
  EXPECT_EQ(finish("max_output_tokens"), Finish::kLength);
  EXPECT_EQ(finish("content_filter"), Finish::kContentFilter);
  const ModelReply reply =
      Whole(Completed(R"(,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},)"
                      R"("output_tokens":5,"output_tokens_details":{"reasoning_tokens":2}})"));
  EXPECT_EQ(reply.usage.input, 9u);
  EXPECT_EQ(reply.usage.cached_input, 4u);
  EXPECT_EQ(reply.usage.output, 5u);
  EXPECT_EQ(reply.usage.reasoning, 2u);
}

TEST(ResponsesStreamTest, FailuresAreReported) {
  EXPECT_THAT(
      Items(
          kText +
          Event(
              "response.failed",
              R"("response":{"status":"failed","error":{"code":"server_error","message":"lost"}})")),
      ElementsAre(HasSubstr("lost")));
  EXPECT_THAT(Items(Event("error", R"("code":"rate_limit_exceeded","message":"slow down")")),
              ElementsAre(HasSubstr("slow down")));
  EXPECT_THAT(Items(Event("response.failed", R"("response":{"status":"cancelled"})")),
              ElementsAre(HasSubstr("cancelled")));
}

TEST(ResponsesStreamTest, ACutStreamIsUnavailable) {
  for (const std::string end : {"", "data: {\"type\":\"resp", "data: [DONE]\n\n"}) {
    const auto replayed = Replay(*kResponses, kText + end, 7);
    ASSERT_FALSE(replayed.reply) << end;
    EXPECT_EQ(replayed.reply.error().code(), ErrorCode::kUnavailable);
  }
}

TEST(ResponsesStreamTest, FieldsOfAnotherTypeAreIgnored) {
  EXPECT_THAT(
      Items(Event("response.output_item.added", "\"item\":7,\"output_index\":\"0\"") +
            Event("response.output_text.delta", "\"delta\":[],\"output_index\":-1") +
            Event("response.output_item.done", R"("item":{"type":"message","content":{}})") +
            "data: {\"type\":7,\"response\":{}}\n\n" + kText +
            Completed(R"(,"output":[7,{"type":"message","content":[7]}],"usage":1)")),
      ElementsAre("text \"Hello\""));
}

TEST(ResponsesStreamTest, AnIndexThatChangesItsKindIsIgnored) {
  EXPECT_THAT(
      Items(kText + Event("response.reasoning_text.delta", R"("output_index":0,"delta":"x")") +
            Event("response.output_item.added",
                  R"("output_index":0,"item":{"type":"function_call","name":"f"})") +
            Completed()),
      ElementsAre("text \"Hello\""));
}

TEST(ResponsesReplyTest, ReadsAnAnswerThatIsNotStreamed) {
  EXPECT_THAT(Items(R"({"object":"response","status":"completed","error":null,"output":[)" +
                    std::string(kMessage) + "]}"),
              ElementsAre("text \"Hello you\""));
}

std::string Body(const ModelRequest& request, DialectSettings settings) {
  const auto text = ToJson(ResponsesBody(request, settings));
  return text ? *text : text.error().message();
}

TEST(ResponsesRequestTest, WritesAConversation) {
  const ModelRequest request{
      .instructions = "Be brief.",
      .items = {MessageItem{Role::kUser, {TextPart{"Hi"}, DataPart{"image/png", "abc"}}},
                ReasoningItem{"Hm", "openai-responses:rs_1:xyz"},
                ReasoningItem{"of another API", "anthropic:xyz"},
                MessageItem{Role::kAssistant, {TextPart{"I look."}}}, ToolCallItem{"c1", "f", ""},
                ToolResultItem{"c1", {TextPart{"one"}}},
                MessageItem{Role::kDeveloper, {TextPart{"Now."}}}},
      .max_output_tokens = 9};
  EXPECT_EQ(
      Body(request, {.model = "gpt-5"}),
      R"({"model":"gpt-5","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"},)"
      R"({"type":"input_image","image_url":"data:image/png;base64,YWJj"}]},)"
      R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"xyz"},)"
      R"({"role":"assistant","content":"I look."},)"
      R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},)"
      R"({"type":"function_call_output","call_id":"c1","output":"one"},)"
      R"({"role":"developer","content":[{"type":"input_text","text":"Now."}]}],"store":false,)"
      R"("instructions":"Be brief.","include":["reasoning.encrypted_content"],)"
      R"("max_output_tokens":9,"stream":true})");
}

TEST(ResponsesRequestTest, WritesTools) {
  const ModelRequest request{.tools = {{.name = "f"}},
                             .tool_choice = {.mode = ToolChoice::Mode::kNamed, .name = "f"}};
  const std::string body = Body(request, {.model = "gpt-4o", .streams = false});
  EXPECT_THAT(body, HasSubstr(R"("tools":[{"type":"function","name":"f","description":"",)"
                              R"("parameters":{},"strict":false}],)"
                              R"("tool_choice":{"type":"function","name":"f"})"));
  EXPECT_THAT(body, Not(HasSubstr("include")));
}

}  // namespace
}  // namespace caisson::model
