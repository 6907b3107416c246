#include "protocol/agui/run_input.h"

#include <gmock/gmock.h>

namespace caisson::agui {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kWhole = R"({
  "threadId": "t", "runId": "r", "protocolVersion": "1.0", "parentRunId": null,
  "state": {"n": 1},
  "messages": [
    {"id": "1", "role": "system", "content": "Be brief."},
    {"id": "2", "role": "user", "content": "hi", "name": null},
    {"id": "3", "role": "assistant", "toolCalls": [{"id": "c", "type": "function"}]},
    {"id": "4", "role": "tool", "toolCallId": "c", "content": "42", "error": "no"},
    {"id": "5", "role": "user", "content": [{"type": "text", "text": "look"},
      {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
      {"type": "document", "source": {"type": "url", "value": "https://x/y.pdf"}}]},
    {"id": "6", "role": "activity", "activityType": "PLAN", "content": {}}],
  "tools": [{"name": "show", "description": "Shows.", "parameters": {"type": "object"}},
            {"name": "hide"}],
  "context": [{"description": "page", "value": "/home"}],
  "forwardedProps": {"command": {"resume": {"interruptId": "i"}}},
  "unknown": [1, 2]})";

TEST(RunInputTest, ReadsEverythingThatClientsSend) {
  const auto input = ParseRunInput(kWhole);
  ASSERT_TRUE(input) << input.error().message();
  EXPECT_EQ(input->thread_id, "t");
  EXPECT_EQ(input->run_id, "r");
  EXPECT_TRUE(input->state);
  ASSERT_EQ(input->messages.size(), 6u);
  EXPECT_EQ(input->messages[0].role, MessageRole::kInstructions);
  EXPECT_EQ(std::get<model::TextPart>(input->messages[1].parts.at(0)).text, "hi");
  EXPECT_EQ(input->messages[2].role, MessageRole::kAssistant);
  EXPECT_EQ(input->messages[3].tool_call_id, "c");
  EXPECT_TRUE(input->messages[3].is_error);
  ASSERT_EQ(input->messages[4].parts.size(), 3u);
  EXPECT_EQ(std::get<model::DataPart>(input->messages[4].parts[1]).bytes, "hi");
  EXPECT_EQ(std::get<model::DataPart>(input->messages[4].parts[2]).url, "https://x/y.pdf");
  EXPECT_EQ(input->messages[5].role, MessageRole::kOther);
  ASSERT_EQ(input->tools.size(), 2u);
  EXPECT_EQ(input->context.at(0).value, "/home");
  EXPECT_TRUE(input->resume);
}

TEST(RunInputTest, TakesSnakeCase) {
  const auto input = ParseRunInput(
      R"({"thread_id":"t","run_id":"r","messages":[{"id":"1","role":"tool","tool_call_id":"c",
          "content":"x"}],"forwarded_props":{"resume":[]}})");
  ASSERT_TRUE(input) << input.error().message();
  EXPECT_EQ(input->thread_id, "t");
  EXPECT_EQ(input->messages.at(0).tool_call_id, "c");
  EXPECT_TRUE(input->resume);
}

TEST(RunInputTest, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "not JSON"},
      {"[]", "must be a JSON object"},
      {R"({"runId":"r","messages":[]})", "threadId"},
      {R"({"threadId":"","runId":"r","messages":[]})", "threadId"},
      {R"({"threadId":"a\u0000b","runId":"r","messages":[]})", "threadId"},
      {R"({"threadId":"t","messages":[]})", "runId"},
      {R"({"threadId":"t","runId":"r"})", "\"messages\" is missing"},
      {R"({"threadId":"t","runId":"r","messages":{}})", "messages"},
      {R"({"threadId":"t","runId":"r","messages":[{"role":"user","content":"x"}]})", "messages.id"},
      {R"({"threadId":"t","runId":"r","messages":[{"id":"1","role":"user"}]})", "content"},
      {R"({"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[
          {"type":"image","source":{"type":"url","value":"file:///etc/passwd"}}]}]})",
       "https://"},
      {R"({"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[
          {"type":"image","source":{"type":"file","value":"x"}}]}]})",
       "must be of type"},
      {R"({"threadId":"t","runId":"r","messages":[],"tools":[{"name":"a b"}]})", "name of a tool"},
      {R"({"threadId":"t","runId":"r","messages":[],"tools":[{"name":"a"},{"name":"a"}]})", "two"},
      {R"({"threadId":"t","runId":"r","messages":[],"tools":[{"name":"a","parameters":1}]})",
       "JSON Schema"},
      {R"({"threadId":"t","runId":"r","messages":[],"context":[{"description":"d"}]})",
       "context.value"},
  };
  for (const auto& [body, message] : mistakes) {
    const auto input = ParseRunInput(body);
    ASSERT_FALSE(input) << body;
    EXPECT_EQ(input.error().code(), ErrorCode::kInvalidArgument) << body;
    EXPECT_THAT(input.error().message(), HasSubstr(message)) << body;
  }
}

TEST(RunInputTest, AStateThatIsTooLargeIsRefused) {
  const std::string body = R"({"threadId":"t","runId":"r","messages":[],"state":{"s":")" +
                           std::string(kMaxStateBytes, 'x') + "\"}}";
  EXPECT_FALSE(ParseRunInput(body));
}

}  // namespace
}  // namespace caisson::agui
