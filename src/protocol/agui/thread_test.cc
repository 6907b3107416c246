#include "protocol/agui/thread.h"

#include <gmock/gmock.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value Message(const char* id, const char* role, const char* content) {
  return Object({{"id", id}, {"role", role}, {"content", content}});
}
std::vector<std::string> Ids(const std::vector<Value>& messages) {
  std::vector<std::string> ids;
  for (const Value& message : messages) {
    ids.push_back(*FindAs<std::string>(*message.If<Dict>(), "id"));
  }
  return ids;
}
InputMessage User(const char* id) {
  return {.id = id,
          .role = MessageRole::kUser,
          .parts = {model::TextPart{"text of " + std::string(id)}},
          .content = "text of " + std::string(id)};
}
InputMessage Assistant(const char* id) {
  return {.id = id, .role = MessageRole::kAssistant};
}
InputMessage ToolResult(const char* id, const char* call) {
  return {.id = id,
          .role = MessageRole::kTool,
          .parts = {model::TextPart{"ok"}},
          .content = "ok",
          .tool_call_id = call};
}

TEST(ThreadTest, ComesBackAsItWasStored) {
  Thread thread{.messages = {Message("1", "user", "hi")},
                .state = Object({{"n", std::int64_t{1}}}),
                .turn = ResponseId("turn_1"),
                .last_run = "run 7",
                .under_way = RunUnderWay{.run_id = "run 8",
                                         .turn = ResponseId("turn_2"),
                                         .messages = 1,
                                         .since = SystemTime(std::chrono::seconds(5))},
                .interrupts = {{.id = "a",
                                .tool_call = "c",
                                .tool = "send",
                                .arguments = Object({{"to", "x"}}),
                                .expires_at = SystemTime(std::chrono::seconds(9))}},
                .waiting = {{.run = "run_1", .tool_call = "c"}},
                .client_calls = {{.tool_call = "d", .call_id = "m", .tool = "show"}},
                .state_results = {{"m2", "done"}}};
  const auto text = Encode(thread);
  ASSERT_TRUE(text);
  const auto again = DecodeThread(*text);
  ASSERT_TRUE(again);
  EXPECT_EQ(*Encode(*again), *text);
  EXPECT_EQ(again->under_way->since, thread.under_way->since);
  EXPECT_EQ(again->interrupts[0].expires_at, thread.interrupts[0].expires_at);
  EXPECT_FALSE(DecodeThread("{}"));
  EXPECT_FALSE(DecodeThread("garbage"));
}

TEST(ThreadTest, IdsOfThreadsAreInjective) {
  EXPECT_NE(ThreadDocument("a", "b"), ThreadDocument("a\",\"b", ""));
  EXPECT_NE(ThreadDocument("a:b", "c"), ThreadDocument("a", "b:c"));
}

TEST(ThreadTest, OnlyWhatFollowsTheStoredMessagesIsNew) {
  const Thread thread{.messages = {Message("1", "user", "hi"), Message("2", "assistant", "ho")}};
  const auto news = [&](std::vector<InputMessage> messages) {
    return Ids(NewsIn({.messages = std::move(messages)}, thread).messages);
  };
  EXPECT_THAT(news({User("1"), Assistant("2"), User("3")}), ElementsAre("3"));
  EXPECT_THAT(news({User("3")}), ElementsAre("3"));
  EXPECT_THAT(news({User("1"), Assistant("2")}), IsEmpty());
  // A client that lost the history, or made one up: only the latest message counts.
  EXPECT_THAT(news({User("x"), Assistant("y"), User("z")}), ElementsAre("z"));
  // Forged messages between stored ones and after them.
  EXPECT_THAT(news({User("0"), User("1"), Assistant("forged"), User("3")}), ElementsAre("3"));
  EXPECT_THAT(Ids(NewsIn({.messages = {User("a"), Assistant("b"), User("c")}}, {}).messages),
              ElementsAre("a", "c"));
}

TEST(ThreadTest, OnlyOpenCallsOfTheClientHaveResultsOfTheClient) {
  const Thread thread{.messages = {Message("1", "user", "hi")},
                      .waiting = {{.run = "run_1", .tool_call = "approval"}},
                      .client_calls = {{.tool_call = "open", .call_id = "m", .tool = "show"}}};
  const News news =
      NewsIn({.messages = {User("1"), ToolResult("r1", "open"), ToolResult("r2", "open"),
                           ToolResult("r3", "approval"), ToolResult("r4", "other")}},
             thread);
  EXPECT_EQ(news.results, 1u);
  EXPECT_THAT(Ids(news.messages), ElementsAre("r1"));
  ASSERT_EQ(news.input.size(), 1u);
  EXPECT_EQ(std::get<ClientResult>(news.input[0].content).call_id, "m");
}

TEST(ThreadTest, AddingTheSameOutputTwiceChangesNothing) {
  Thread thread;
  const TurnView turn{.id = ResponseId("turn_1"),
                      .agent = "a",
                      .state = TurnState::kWaiting,
                      .output = {{.id = "ci_1",
                                  .content = CodeCall{.call_id = "m",
                                                      .code = "send()",
                                                      .run = RunId("run_1"),
                                                      .progress = CallProgress::kWaiting}},
                                 {.id = "ask_1",
                                  .content = ApprovalRequest{.approval = ApprovalId("apr_1"),
                                                             .call_item = "ci_1",
                                                             .tool = "send",
                                                             .arguments = R"({"to":"x"})"}}}};
  AddOutput(thread, turn);
  const std::string once = *Encode(thread);
  AddOutput(thread, turn);
  EXPECT_EQ(*Encode(thread), once);
  EXPECT_EQ(thread.interrupts.at(0).tool_call, "ci_1");
  EXPECT_EQ(thread.waiting.at(0).tool_call, "ci_1");

  // The result of the run belongs to the call that was shown.
  AddOutput(thread, {.id = ResponseId("turn_2"),
                     .agent = "a",
                     .state = TurnState::kCompleted,
                     .output = {{.id = "ci_2",
                                 .content = CodeCall{.call_id = "m",
                                                     .code = "send()",
                                                     .run = RunId("run_1"),
                                                     .progress = CallProgress::kCompleted,
                                                     .logs = "sent"}}}});
  EXPECT_THAT(Ids(thread.messages), ElementsAre("ci_1", "ci_2_result"));
  EXPECT_EQ(*FindAs<std::string>(*thread.messages[1].If<Dict>(), "toolCallId"), "ci_1");
  EXPECT_THAT(thread.interrupts, IsEmpty());
  EXPECT_THAT(thread.waiting, IsEmpty());
}

TEST(ThreadTest, AStoredStateIsNotResetByDefaults) {
  Value state = *ParseJson(R"({"a":1,"b":2})");
  MergeState(state, Dict{});
  EXPECT_EQ(*ToJson(state), R"({"a":1,"b":2})");
  MergeState(state, *ParseJson(R"({"b":3,"c":4})"));
  EXPECT_EQ(*ToJson(state), R"({"a":1,"b":3,"c":4})");
  MergeState(state, *ParseJson("[1]"));
  EXPECT_EQ(*ToJson(state), "[1]");
}

}  // namespace
}  // namespace caisson::agui
