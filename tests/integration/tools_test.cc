// Calls from code to the host's tools: in place, awaited, in parallel, answered well and badly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guest/testing/awaited_for_test.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using ::testing::HasSubstr;

class ToolsTest : public OnEachEngine {
 protected:
  void TearDown() override {
    if (engine_) EXPECT_EQ(engine_->stats().workers_lost, 0u);  // Without one, it was skipped.
  }

  Guest Start(std::string code, Limits limits = {},
              std::vector<std::string> tools = {"tool", "other", "echo", "fail"}) {
    Guest guest = Guest::Open(*engine_);
    guest.Start({.code = std::move(code), .limits = limits, .tools = std::move(tools)});
    return guest;
  }

  std::unique_ptr<Engine> engine_ = StartEngine(GetParam());
};
INSTANTIATE_ON_BOTH_ENGINES(ToolsTest);

// Returns its arguments.
ToolAnswer Echo(const ToolCall& call) {
  return call.positional.items.empty() ? Value(call.keywords) : call.positional.items[0];
}

TEST_P(ToolsTest, ArgumentsCrossNatively) {
  Guest guest = Start(
      "given = [1, 2**200, -2.5, float('inf'), True, None, 'ü', b'\\0\\xff', (1, (2,)), {'k': {1: "
      "2}}]\n"
      "tool(given) == given and tool(a=1, b=[2]) == {'a': 1, 'b': [2]} and tool(-2**300)");
  const Outcome outcome = guest.Serve(Echo);
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_TRUE(outcome.result->If<BigInt>());
  ASSERT_EQ(outcome.calls.size(), 3u);
  EXPECT_EQ(outcome.calls[1].tool, "tool");
  EXPECT_EQ(*ToJson(outcome.calls[1].arguments), R"({"a":1,"b":[2]})");
  EXPECT_EQ(outcome.calls[1].outcome, "returned");
}

TEST_P(ToolsTest, TheOutcomeHasTheArgumentsWithoutAName) {
  Guest guest = Start("tool(1, 'two', b=3)");
  const Outcome outcome = guest.Serve(Echo);
  ASSERT_EQ(outcome.calls.size(), 1u) << Ending(outcome);
  EXPECT_EQ(*ToJson(outcome.calls[0].arguments), R"({"b":3,"*args":[1,"two"]})");
  EXPECT_TRUE(outcome.calls[0].has_positional);
}

TEST_P(ToolsTest, CallToolReachesAnyName) {
  Guest guest = Start("call_tool('never heard of', {'x': 1}, y=2)");
  const ToolCall call = guest.NextCall();
  EXPECT_EQ(call.tool, "never heard of");
  EXPECT_EQ(*ToJson(Value(call.keywords)), R"({"x":1,"y":2})");
  ASSERT_TRUE(guest.Answer(call.seq, Value(9)));
  EXPECT_EQ(guest.End().result, Value(9));
}

TEST_P(ToolsTest, AwaitedAndPlainCallsMix) {
  Guest guest = Start(
      "import asyncio\n"
      "async def f(n): return tool(n) + await tool(n)\n"
      "a = await tool(1)\nb = tool(2)\n"
      "[a, b, await f(3), asyncio.run(f(4)) if False else 0, *await asyncio.gather(tool(5), "
      "f(6))]");
  EXPECT_EQ(ResultJson(guest.Serve(Echo)), "[1,2,6,0,5,12]");
}

TEST_P(ToolsTest, GatheredCallsAreOpenSideBySide) {
  Guest guest = Start("import asyncio\nawait asyncio.gather(*[tool(i) for i in range(20)])");
  std::vector<ToolCall> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(guest.NextCall());
  // Answered from the last to the first, they still reach the right calls.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    ASSERT_TRUE(guest.Answer(call->seq, Echo(*call)));
  }
  EXPECT_EQ(ResultJson(guest.End()), "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]");
}

TEST_P(ToolsTest, CallsThatAreOnlyAwaitedAreOpenSideBySide) {
  for (const char* code : kSideBySide) {
    Guest guest = Start(code);
    std::vector<ToolCall> calls;
    for (int i = 0; i < 3; ++i) {
      const std::optional<ToolCall> call = guest.NextCallOrEnd();
      ASSERT_TRUE(call) << code;
      calls.push_back(*call);
    }
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
      ASSERT_TRUE(guest.Answer(call->seq, Echo(*call)));
    }
    EXPECT_EQ(ResultJson(guest.End()), "[1,2,3]") << code;
  }
}

TEST_P(ToolsTest, CallsThatMayBeMoreThanAwaitedAreMadeOneByOne) {
  for (const char* code : kOneByOne) {
    Guest guest = Start(code, {}, {"echo", "fail", "create_task"});
    const Outcome outcome = guest.Serve([](const ToolCall& call) -> ToolAnswer {
      if (call.tool == "fail") return ToolRaised{.type = "ValueError", .message = "boom"};
      return Echo(call);
    });
    EXPECT_EQ(ResultJson(outcome), "[1,1]") << code << Ending(outcome);
  }
}

TEST_P(ToolsTest, ACallThatIsNeverAwaitedIsAnsweredBeforeTheRunEnds) {
  Guest guest = Start("p = [echo(1), tool(2)]\nif not __name__: await p[0]\n7");
  const Outcome outcome = guest.Serve(Echo);
  EXPECT_EQ(outcome.result, Value(7)) << Ending(outcome);
  ASSERT_EQ(outcome.calls.size(), 2u);
  EXPECT_EQ(outcome.calls[0].outcome, "returned");
  EXPECT_EQ(outcome.calls[1].outcome, "returned");
}

TEST_P(ToolsTest, AnAnswerThatRaisesIsAToolError) {
  Guest guest = Start(
      "try: tool()\nexcept ToolError as e: [e.type, e.message, str(e)]\n"
      "r = []\ntry: tool()\nexcept ToolError as e: r = [e.type, e.message]\nr");
  const Outcome outcome = guest.Serve(
      [](const ToolCall&) { return ToolRaised{.type = "ValueError", .message = "no good"}; });
  EXPECT_EQ(ResultJson(outcome), R"(["ValueError","no good"])");
  EXPECT_EQ(outcome.calls[0].outcome, "raised");
}

TEST_P(ToolsTest, ADeniedCallRaisesApprovalDenied) {
  Guest guest = Start("try: tool()\nexcept ApprovalDenied as e: r = str(e)\nr");
  const Outcome outcome =
      guest.Serve([](const ToolCall&) { return ToolDenied{.message = "not today"}; });
  EXPECT_EQ(outcome.result, Value(std::string("not today"))) << Ending(outcome);
  EXPECT_EQ(outcome.calls[0].outcome, "denied");
}

TEST_P(ToolsTest, AnswersToWhatIsNotOpenAreRefused) {
  Guest guest = Start("tool(1)");
  const ToolCall call = guest.NextCall();
  EXPECT_FALSE(guest.Answer(call.seq + 1, Value(1)));
  EXPECT_TRUE(guest.Answer(call.seq, Value(2)));
  EXPECT_FALSE(guest.Answer(call.seq, Value(3)));
  EXPECT_EQ(guest.End().result, Value(2));
}

TEST_P(ToolsTest, MessagesUpToTheLimitCross) {
  constexpr std::int64_t kLimit = 8 << 20;
  const std::string code =
      "n = 0\nfor size in (1 << 20, (8 << 20) - 100):\n"
      "  n += len(tool(b'x' * size))\nn";
  Guest guest = Start(code);
  EXPECT_EQ(guest.Serve(Echo).result, Value((1 << 20) + kLimit - 100));
  const Outcome outcome = Start("tool(b'x' * (8 << 20))").Serve(Echo);
  ASSERT_TRUE(outcome.error) << Ending(outcome);
  EXPECT_EQ(outcome.error->type, "ToolError");
  EXPECT_TRUE(outcome.calls.empty());
}

TEST_P(ToolsTest, ATooLongAnswerIsRefusedAndAnotherMayFollow) {
  Guest guest = Start("tool(1)");
  const ToolCall call = guest.NextCall();
  const auto refused = guest.Answer(call.seq, Value(Bytes{std::string(9 << 20, 'x')}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  ASSERT_TRUE(guest.Answer(call.seq, Value(1)));
  EXPECT_EQ(guest.End().result, Value(1));
}

TEST_P(ToolsTest, AWaitForIsLeftInTime) {
  Guest guest = Start(
      "import asyncio\n"
      "try: await asyncio.wait_for(tool(1), 0.05)\n"
      "except TimeoutError: r = 'late'\n"
      "r, tool(2)");
  guest.NextCall();
  const ToolCall second = guest.NextCall();
  ASSERT_TRUE(guest.Answer(second.seq, Value(2)));
  EXPECT_EQ(ResultJson(guest.End()), R"(["late",2])");
}

TEST_P(ToolsTest, CallsThatNobodyAnsweredArePendingInTheOutcome) {
  // A foreign interpreter starts within this time.
  const std::chrono::milliseconds wall_time(GetParam() == EngineKind::kForeign ? 5000 : 100);
  Guest guest = Start("tool(1)", {.wall_time = wall_time});
  guest.NextCall();
  const Outcome outcome = guest.End();
  EXPECT_EQ(outcome.reason, RunReason::kWallTime);
  ASSERT_EQ(outcome.calls.size(), 1u);
  EXPECT_EQ(outcome.calls[0].outcome, "pending");
}

TEST_P(ToolsTest, ArgumentsThatAreNotPlainDataAreRefusedInTheCode) {
  const Outcome outcome = Start("tool(object())").Serve(Echo);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->type, "TypeError");
  EXPECT_THAT(outcome.error->message, HasSubstr("object"));
  const Outcome endless = Start("a = []; a.append(a); tool(a)").Serve(Echo);
  ASSERT_TRUE(endless.error);
  EXPECT_EQ(endless.error->type, "ValueError");
}

TEST_P(ToolsTest, AThousandCallsInOneRun) {
  EXPECT_EQ(Start("sum(tool(i) for i in range(1000))").Serve(Echo).result, Value(499500));
}

}  // namespace
}  // namespace caisson::testing
