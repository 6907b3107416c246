#include "model/demo_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "base/spawn.h"
#include "model/make_model.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MessageItem Said(std::string text) {
  return {.role = Role::kUser, .parts = {TextPart{std::move(text)}}};
}

ToolResultItem Returned(const ToolCallItem& call, std::string text, bool is_error = false) {
  return {.call_id = call.call_id, .parts = {TextPart{std::move(text)}}, .is_error = is_error};
}

class DemoModelTest : public ::testing::Test {
 protected:
  // Asks the demo with the conversation and adds its reply.
  Result<ModelReply> Ask(std::string prompt) {
    request_.items.emplace_back(Said(std::move(prompt)));
    return Continue();
  }
  Result<ModelReply> Continue() {
    std::optional<Result<ModelReply>> reply;
    deltas_.clear();
    asio::io_context io;
    Spawn(io.get_executor(), [&]() -> asio::awaitable<void> {
      reply.emplace(co_await model_.Generate(
          request_, [this](const Delta& delta) { deltas_.push_back(delta); }));
    });
    io.run();
    if (*reply) {
      request_.items.insert(request_.items.end(), (*reply)->items.begin(), (*reply)->items.end());
    }
    return *std::move(reply);
  }

  static std::string Text(const Result<ModelReply>& reply) {
    if (!reply) return "failed: " + reply.error().message();
    for (const Item& item : reply->items) {
      if (const auto* message = std::get_if<MessageItem>(&item)) {
        if (const auto* text = std::get_if<TextPart>(&message->parts.at(0))) return text->text;
      }
    }
    return "";
  }
  static std::vector<ToolCallItem> Calls(const Result<ModelReply>& reply) {
    std::vector<ToolCallItem> calls;
    if (!reply) return calls;
    for (const Item& item : reply->items) {
      if (const auto* call = std::get_if<ToolCallItem>(&item)) calls.push_back(*call);
    }
    return calls;
  }
  // Returns the code of the only call.
  static std::string Code(const Result<ModelReply>& reply) {
    const auto calls = Calls(reply);
    if (calls.size() != 1 || calls[0].name != "execute_code") return "no code";
    return *FindAs<std::string>(*ParseJson(calls[0].arguments)->If<Dict>(), "code");
  }

  void DeclareCode(std::string description = "Runs Python.") {
    request_.tools.push_back({.name = "execute_code", .description = std::move(description)});
  }
  void Declare(std::string name, std::string_view schema) {
    request_.tools.push_back({.name = std::move(name), .input_schema = *ParseJson(schema)});
  }

  DemoModel model_;
  ModelRequest request_;
  std::vector<Delta> deltas_;
};

TEST_F(DemoModelTest, RepeatsAMessageInPieces) {
  EXPECT_EQ(Text(Ask("hello you")), "You said: hello you");
  ASSERT_THAT(deltas_, SizeIs(4));
  EXPECT_EQ(std::get<TextDelta>(deltas_[0]).text, "You ");
  EXPECT_EQ(std::get<TextDelta>(deltas_[3]).text, "you");
}

TEST_F(DemoModelTest, RepliesTheSameToTheSame) {
  DeclareCode();
  const auto first = Ask("compute");
  request_.items = {};
  const auto second = Ask("compute");
  EXPECT_EQ(first->items, second->items);
}

TEST_F(DemoModelTest, WritesCodeAndQuotesItsResult) {
  DeclareCode();
  const auto reply = Ask("Please compute it");
  EXPECT_EQ(reply->finish, Finish::kToolCalls);
  EXPECT_THAT(Code(reply), HasSubstr("sum("));
  request_.items.emplace_back(Returned(Calls(reply).at(0), "385"));
  EXPECT_EQ(Text(Continue()), "The result is: 385");
}

TEST_F(DemoModelTest, QuotesAnError) {
  DeclareCode();
  const auto reply = Ask("raise");
  request_.items.emplace_back(Returned(Calls(reply).at(0), "ValueError: no", true));
  EXPECT_EQ(Text(Continue()), "The tool reported an error: ValueError: no");
}

TEST_F(DemoModelTest, CutsALongResultBetweenCharacters) {
  DeclareCode();
  std::string euros;
  for (int i = 0; i < 3000; ++i) euros.append("\u20ac");
  request_.items.emplace_back(Returned(Calls(Ask("fib")).at(0), euros));
  const std::string text = Text(Continue());
  EXPECT_LT(text.size(), 4010u);
  EXPECT_TRUE(text.ends_with("\u20ac ...")) << text.substr(text.size() - 10);
}

TEST_F(DemoModelTest, ExecutesTheCodeOfTheMessage) {
  DeclareCode();
  EXPECT_EQ(Code(Ask("Do\n```python\nfail()\n```\nplease")), "fail()\n");
}

TEST_F(DemoModelTest, SendsAnEmailFromCodeWithTheDeclaredFunction) {
  DeclareCode(
      "Tools:\ndef add(a: int) -> int:\n    \"\"\"Adds.\"\"\"\n"
      "def send_mail(to: str, kind: Literal[\"a, b\", \"c\"], *, n: int, cc: str = ...) -> Any:\n");
  EXPECT_THAT(Code(Ask("send it")),
              HasSubstr("send_mail(to=\"ann@example.com\", kind=\"a, b\", n=1)\n"));
}

TEST_F(DemoModelTest, SendsAnEmailDirectlyWithoutCode) {
  Declare("add", "{}");
  Declare("send_email", R"({"type":"object","required":["to","n","level"],"properties":{
      "to":{"type":"string"},"n":{"type":"integer"},"level":{"enum":["low","high"]},
      "cc":{"type":"string"}}})");
  const auto calls = Calls(Ask("Email Ann"));
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].name, "send_email");
  EXPECT_EQ(calls[0].arguments, R"({"to":"ann@example.com","n":1,"level":"low"})");
}

TEST_F(DemoModelTest, CallsTheNamedToolWithTheWrittenArguments) {
  Declare("add", "{}");
  const auto calls = Calls(Ask(R"(call add {"a": 1})"));
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].name, "add");
  EXPECT_EQ(calls[0].arguments, R"({"a": 1})");
}

TEST_F(DemoModelTest, MakesTwoCallsInOneReplyWithDifferentIds) {
  DeclareCode();
  const auto calls = Calls(Ask("do both"));
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_NE(calls[0].call_id, calls[1].call_id);
  for (const auto& call : calls) request_.items.emplace_back(Returned(call, call.call_id));
  EXPECT_EQ(Text(Continue()), "The result is: call_demo_1\nThe result is: call_demo_2");
  EXPECT_EQ(Calls(Ask("compute")).at(0).call_id, "call_demo_3");
}

TEST_F(DemoModelTest, MakesThreeStepsOneAfterTheOther) {
  DeclareCode();
  std::string code;
  auto reply = Ask("go step by step");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(Code(reply), "print(\"step " + std::to_string(i) + "\")\n");
    request_.items.emplace_back(Returned(Calls(reply).at(0), std::to_string(i)));
    reply = Continue();
  }
  EXPECT_EQ(Text(reply), "The result is: 1\nThe result is: 2\nThe result is: 3");
}

TEST_F(DemoModelTest, CallsWithoutEnd) {
  DeclareCode();
  auto reply = Ask("endless");
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(Calls(reply), SizeIs(1));
    request_.items.emplace_back(Returned(Calls(reply).at(0), "1"));
    reply = Continue();
  }
}

TEST_F(DemoModelTest, WritesArgumentsThatAreNotJson) {
  DeclareCode();
  const auto calls = Calls(Ask("malformed"));
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_FALSE(ParseJson(calls[0].arguments));
}

TEST_F(DemoModelTest, FailsOnRequest) {
  const auto reply = Ask("Now fail");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kUnavailable);
}

TEST_F(DemoModelTest, RefusesOnRequest) {
  const auto reply = Ask("refuse");
  const auto& message = std::get<MessageItem>(reply->items.at(0));
  EXPECT_EQ(std::get<RefusalPart>(message.parts.at(0)).text, "I cannot help with that.");
  EXPECT_TRUE(std::holds_alternative<RefusalDelta>(deltas_.at(0)));
}

TEST_F(DemoModelTest, ShowsReasoning) {
  const auto reply = Ask("think about it");
  ASSERT_THAT(reply->items, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<ReasoningItem>(reply->items[0]));
  EXPECT_GT(reply->usage.reasoning, 0u);
  EXPECT_GE(reply->usage.output, reply->usage.reasoning);
}

TEST_F(DemoModelTest, WritesALongText) {
  EXPECT_GT(Text(Ask("write long")).size(), 10'000u);
}

TEST_F(DemoModelTest, StopsAtTheRequestedLength) {
  request_.max_output_tokens = 3;
  const auto reply = Ask("one two three");
  EXPECT_EQ(Text(reply), "You said: one ");
  EXPECT_EQ(reply->finish, Finish::kLength);
  EXPECT_EQ(reply->usage.output, 3u);
}

TEST_F(DemoModelTest, CallsNoToolIfItMayNot) {
  DeclareCode();
  request_.tool_choice.mode = ToolChoice::Mode::kNone;
  const auto reply = Ask("compute");
  EXPECT_THAT(Calls(reply), IsEmpty());
  EXPECT_THAT(Text(reply), HasSubstr("No tool"));
}

TEST_F(DemoModelTest, CallsTheToolThatItMust) {
  DeclareCode();
  Declare("add", R"({"required":["a"],"properties":{"a":{"type":"number"}}})");
  request_.tool_choice = {.mode = ToolChoice::Mode::kNamed, .name = "add"};
  const auto calls = Calls(Ask("hello"));
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].arguments, R"({"a":1.5})");
}

TEST_F(DemoModelTest, ASlowReplyCanBeCancelled) {
  request_.items.emplace_back(Said("slow 600"));
  asio::io_context io;
  const Stop stop(io.get_executor());
  std::optional<Result<ModelReply>> reply;
  Spawn(stop, [&]() -> asio::awaitable<void> {
    reply.emplace(co_await model_.Generate(request_, [&](const Delta&) { stop.Request(); }));
  });
  io.run();
  ASSERT_TRUE(reply && !*reply);
  EXPECT_EQ(reply->error().code(), ErrorCode::kCancelled);
}

TEST(MakeModelTest, AnUnknownKindIsAnErrorWithTheKnownOnes) {
  const auto kind = ParseModelKind("openai");
  ASSERT_FALSE(kind);
  EXPECT_THAT(kind.error().message(), HasSubstr("openai-chat, openai-responses, anthropic, demo"));
  EXPECT_EQ(*ParseModelKind("anthropic"), ModelKind::kAnthropic);
}

TEST(MakeModelTest, TheDemoNeedsNoSettings) {
  EXPECT_TRUE(MakeModel({.kind = *ParseModelKind("demo")}));
}

}  // namespace
}  // namespace caisson::model
