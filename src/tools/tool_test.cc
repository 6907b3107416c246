#include "tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "base/run_here.h"
#include "base/spawn.h"
#include "base/testing/test_loop.h"
#include "wire/json.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value Json(std::string_view text) {
  return *ParseJson(text);
}

Dict Arguments(std::string_view json) {
  return std::get<Dict>(Json(json).variant());
}

constexpr std::string_view kSendSchema = R"({"type":"object","required":["to"],"properties":{
    "to":{"type":"string"},"subject":{"type":["string","null"]},"n":{"type":"integer","minimum":1}}})";

Value Echo(const Dict& given) {
  return given;
}

std::shared_ptr<const Tool> Make(ToolDefinition definition, ToolBody body = Inline(Echo)) {
  auto tool = Tool::Make(std::move(definition), std::move(body));
  EXPECT_TRUE(tool) << tool.error().message();
  return *tool;
}

std::shared_ptr<const Tool> Send(ToolBody body = Inline(Echo)) {
  return Make({.name = "send", .input_schema = Json(kSendSchema)}, std::move(body));
}

std::string Bound(std::string_view positional, std::string_view keywords) {
  const auto bound = Send()->Bind(std::get<List>(Json(positional).variant()), Arguments(keywords));
  return bound ? *ToJson(*bound) : bound.error().message();
}

TEST(ToolTest, PositionalArgumentsFollowTheSchema) {
  EXPECT_EQ(Bound(R"(["ann"])", "{}"), R"({"to":"ann"})");
  EXPECT_EQ(Bound(R"(["ann","hi"])", R"({"n":2})"), R"({"to":"ann","subject":"hi","n":2})");
}

TEST(ToolTest, NullDiffersFromALeftOutArgument) {
  EXPECT_EQ(Bound("[]", R"({"to":"ann","subject":null})"), R"({"to":"ann","subject":null})");
  EXPECT_EQ(Bound("[]", R"({"to":"ann"})"), R"({"to":"ann"})");
  EXPECT_THAT(Bound("[]", R"({"to":null})"), HasSubstr("/to: expected string, got null"));
}

TEST(ToolTest, ABadCallSaysWhatToChange) {
  const std::string signature =
      ". Call it as send(to: str, subject: str | None = ..., n: int = ...)";
  EXPECT_EQ(Bound("[]", "{}"), "send: missing \"to\"" + signature);
  EXPECT_EQ(
      Bound("[]", R"({"to":"a","subjet":"x"})"),
      "send: there is no argument \"subjet\"; did you mean \"subject\"?" + signature.substr(1));
  EXPECT_EQ(Bound("[]", R"({"to":1,"n":0})"),
            "send: /to: expected string, got integer; /n: must be at least 1" + signature);
  EXPECT_EQ(Bound(R"(["a"])", R"({"to":"b"})"), "send: argument \"to\" is given twice" + signature);
  EXPECT_EQ(Bound(R"(["a","b",1,2])", "{}"),
            "send: it takes at most 3 arguments without a name" + signature);
}

TEST(ToolTest, UnknownArgumentsPassOnlyWhereTheSchemaSaysSo) {
  const auto accepts = [](std::string_view schema, std::string_view arguments) {
    return Make({.name = "f", .input_schema = Json(schema)})
        ->Bind({}, Arguments(arguments))
        .has_value();
  };
  EXPECT_FALSE(accepts("{}", R"({"x":1})"));
  EXPECT_TRUE(accepts(R"({"additionalProperties":true})", R"({"x":1})"));
  EXPECT_TRUE(accepts(R"({"additionalProperties":{"type":"integer"}})", R"({"x":1})"));
  EXPECT_FALSE(accepts(R"({"additionalProperties":{"type":"integer"}})", R"({"x":"1"})"));
  EXPECT_TRUE(accepts(R"({"patternProperties":{"^x":true}})", R"({"x1":1})"));
  EXPECT_FALSE(accepts(R"({"patternProperties":{"^x":true}})", R"({"y":1})"));
  EXPECT_TRUE(accepts(R"({"allOf":[{"properties":{"x":true}}]})", R"({"x":1})"));
  EXPECT_FALSE(accepts(R"({"allOf":[{"properties":{"x":true}}]})", R"({"y":1})"));
}

// Names that other interfaces reserve.
TEST(ToolTest, ArgumentsMayHaveAnyName) {
  const auto tool =
      Make({.name = "f", .input_schema = Json(R"({"properties":{"name":{},"code":{},"arguments":{},
                                                   "context":{},"self":{},"from":{}}})")});
  const auto given =
      Arguments(R"({"name":1,"code":2,"arguments":3,"context":4,"self":5,"from":6})");
  EXPECT_EQ(*tool->Bind({}, given), given);
}

TEST(ToolTest, RefusesInvalidDefinitions) {
  const auto refuses = [](ToolDefinition definition) {
    return !Tool::Make(std::move(definition), Inline(Echo)).has_value();
  };
  for (const std::string name : {"", "1a", "a b", "a/b", "ü", "-a", "a\n"}) {
    EXPECT_TRUE(refuses({.name = name})) << name;
  }
  EXPECT_TRUE(refuses({.name = std::string(65, 'a')}));
  EXPECT_FALSE(refuses({.name = std::string(64, 'a')}));
  EXPECT_FALSE(refuses({.name = "server.tool-2_x"}));
  EXPECT_TRUE(refuses({.name = "a", .input_schema = Json(R"({"type":"array"})")}));
  EXPECT_TRUE(refuses({.name = "a", .input_schema = Json("true")}));
  EXPECT_TRUE(
      refuses({.name = "a", .input_schema = Json(R"({"properties":{"x":{"type":"text"}}})")}));
  EXPECT_TRUE(refuses({.name = "a", .output_schema = Json("1")}));
  EXPECT_TRUE(refuses({.name = "a", .max_calls_per_run = 0}));
  EXPECT_TRUE(refuses({.name = "a", .timeout = 0s}));
  EXPECT_TRUE(refuses({.name = "a", .timeout = 2s, .longest = 1s}));
}

TEST(ToolTest, RawIsTheValueAndContentsAreForAModel) {
  ToolRun run;
  const auto tool =
      Make({.name = "f"}, Inline([](const Dict&) { return Value(Tuple{{Value(true)}}); }));
  const auto raw = RunHere(tool->InvokeRaw({}, run));
  EXPECT_EQ(std::get<Value>(*raw), Value(Tuple{{Value(true)}}));
  EXPECT_THAT(*RunHere(tool->Invoke({}, run)), ElementsAre(Content(TextContent{"[true]"})));
}

TEST(ToolTest, ContentsFollowTheKindOfValue) {
  const auto contents = [](ToolAnswer answer) { return ToContents(answer).at(0); };
  EXPECT_EQ(contents(Value(std::string("a"))), Content(TextContent{"a"}));
  EXPECT_EQ(contents(Value()), Content(TextContent{""}));
  EXPECT_EQ(contents(Value(Bytes{"\x01"})), Content(DataContent{.bytes = "\x01"}));
  EXPECT_EQ(contents(ToolRaised{"E", "m"}), Content((ErrorContent{"E", "m"})));
  EXPECT_EQ(contents(ToolDenied{"no"}), Content((ErrorContent{"ApprovalDenied", "no"})));
  EXPECT_TRUE(std::holds_alternative<ErrorContent>(contents(Value(List{{Value(Bytes{"x"})}}))));
}

TEST(ToolTest, InvokeAndInvokeRawAreCountedTogetherPerRun) {
  const auto tool = Make({.name = "f", .max_calls_per_run = 2});
  ToolRun run;
  ToolRun other;
  EXPECT_TRUE(RunHere(tool->InvokeRaw({}, run)));
  // Does not count as a call.
  EXPECT_FALSE(RunHere(tool->InvokeRaw({.keywords = Arguments(R"({"x":1})")}, run)));
  EXPECT_TRUE(RunHere(tool->Invoke({}, run)));
  const auto third = RunHere(tool->InvokeRaw({}, run));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_FALSE(RunHere(tool->Invoke({}, run)));
  EXPECT_TRUE(RunHere(tool->InvokeRaw({}, other)));
}

// Reports progress `steps` times, with pauses.
ToolBody InSteps(int steps, std::chrono::milliseconds pace) {
  return Awaitable([=](Dict, CallContext call) -> asio::awaitable<ToolAnswer> {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int step = 1; step <= steps; ++step) {
      timer.expires_after(pace);
      const auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      if (cancelled) break;
      call.on_progress({.done = static_cast<double>(step)});
    }
    co_return Value();
  });
}

TEST(ToolTest, ProgressRestartsTheTimeout) {
  std::vector<double> told;
  ToolRun run({}, {}, [&](const std::string& tool, const ToolProgress& progress) {
    EXPECT_EQ(tool, "f");
    told.push_back(progress.done);
  });
  const auto tool = Make({.name = "f", .timeout = 100ms, .longest = 1h}, InSteps(5, 40ms));
  EXPECT_TRUE(std::holds_alternative<Value>(*RunHere(tool->InvokeRaw({}, run))));
  EXPECT_THAT(told, ElementsAre(1, 2, 3, 4, 5));
}

TEST(ToolTest, ProgressDoesNotExtendATimeoutWithoutALongestTime) {
  ToolRun run;
  const auto tool = Make({.name = "f", .timeout = 100ms}, InSteps(1000, 10ms));
  EXPECT_THAT(std::get<ToolRaised>(*RunHere(tool->InvokeRaw({}, run))).message, HasSubstr("0.1 s"));
}

TEST(ToolTest, ProgressDoesNotExtendBeyondTheLongestTime) {
  ToolRun run;
  const auto tool = Make({.name = "f", .timeout = 100ms, .longest = 200ms}, InSteps(1000, 10ms));
  EXPECT_THAT(std::get<ToolRaised>(*RunHere(tool->InvokeRaw({}, run))).message, HasSubstr("0.2 s"));
}

TEST(ToolTest, EveryCallIsTraced) {
  std::vector<std::string> traces;
  ToolRun run([&](const ToolTrace& trace) {
    traces.push_back(trace.tool + " " + trace.outcome + " " + trace.error_type);
  });
  const auto tool = Send(Inline([](const Dict& given) -> ToolAnswer {
    if (given.Find("n") != nullptr) return ToolRaised{.type = "Oops", .message = "no"};
    return Value();
  }));
  const auto async = Send(Awaitable([](Dict) -> asio::awaitable<Value> { co_return Value(); }));
  (void)RunHere(tool->InvokeRaw({.keywords = Arguments(R"({"to":"a"})")}, run));
  (void)RunHere(tool->Invoke({.keywords = Arguments(R"({"to":"a","n":1})")}, run));
  (void)RunHere(tool->InvokeRaw({}, run));
  (void)RunHere(async->InvokeRaw({.keywords = Arguments(R"({"to":"a"})")}, run));
  EXPECT_THAT(traces, ElementsAre("send returned ", "send raised Oops", "send refused TypeError",
                                  "send returned "));
}

TEST(ToolTest, AnExceptionOfAFunctionIsRaised) {
  ToolRun run;
  const auto throwing = [](const Dict&) -> Value { throw std::runtime_error("broken"); };
  const auto awaiting = [](Dict) -> asio::awaitable<Value> {
    throw std::runtime_error("broken");
    co_return Value();
  };
  for (ToolBody body : {Inline(throwing), Awaitable(awaiting)}) {
    const auto answer = RunHere(Make({.name = "f"}, std::move(body))->InvokeRaw({}, run));
    const auto& raised = std::get<ToolRaised>(*answer);
    EXPECT_EQ(raised.type, "RuntimeError");
    EXPECT_EQ(raised.message, "broken");
  }
}

TEST(ToolTest, ErrorsBecomePythonExceptions) {
  const auto type = [](ErrorCode code) { return ToRaised(Error(code, "m")).type; };
  EXPECT_EQ(type(ErrorCode::kInvalidArgument), "TypeError");
  EXPECT_EQ(type(ErrorCode::kDeadlineExceeded), "TimeoutError");
  EXPECT_EQ(type(ErrorCode::kPermissionDenied), "PermissionError");
}

TEST(ToolTest, ResultsAreCheckedAgainstTheOutputSchema) {
  ToolRun run;
  const auto tool = Make({.name = "f", .output_schema = Json(R"({"type":"string"})")});
  const auto answer = RunHere(tool->InvokeRaw({}, run));
  EXPECT_THAT(std::get<ToolRaised>(*answer).message, HasSubstr("expected string, got object"));
}

TEST(ToolTest, AGatedCallNeedsConsent) {
  const auto rule =
      *Schema::Compile(Json(R"({"required":["n"],"properties":{"n":{"maximum":10}}})"));
  const auto endless = *Schema::Compile(Json(R"({"$ref":"#"})"));
  const auto needs = [](Approval approval, std::string_view arguments) {
    return approval.IsNeeded(Arguments(arguments));
  };
  EXPECT_FALSE(needs(Approval::Never(), "{}"));
  EXPECT_TRUE(needs(Approval::Always(), "{}"));
  EXPECT_TRUE(needs(Approval::When(rule), R"({"n":5})"));
  EXPECT_FALSE(needs(Approval::When(rule), R"({"n":11})"));
  EXPECT_FALSE(needs(Approval::Unless(rule), R"({"n":5})"));
  EXPECT_TRUE(needs(Approval::Unless(rule), R"({"n":11})"));
  EXPECT_TRUE(needs(Approval::When(endless), "{}"));  // Cannot be evaluated: ask.
  EXPECT_TRUE(needs(Approval::Unless(endless), "{}"));

  ToolRun run;
  int done = 0;
  const auto tool =
      Make({.name = "f", .approval = Approval::Always(), .max_calls_per_run = 1},
           Inline([&](const Dict&) { return Value(static_cast<std::int64_t>(++done)); }));
  const auto refused = RunHere(tool->InvokeRaw({}, run));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(RunHere(tool->InvokeRaw({.consent = Consent::kGiven}, run)));
  EXPECT_EQ(done, 1);
}

TEST(ToolTest, AToolThatDoesNotAnswerTimesOut) {
  ToolRun run;
  bool cancelled = false;
  const auto tool =
      Make({.name = "slow", .timeout = 5ms}, Awaitable([&](Dict) -> asio::awaitable<Value> {
             asio::steady_timer never(co_await asio::this_coro::executor,
                                      asio::steady_timer::time_point::max());
             const auto [error] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
             cancelled = error == asio::error::operation_aborted;
             co_return Value();
           }));
  const auto answer = RunHere(tool->InvokeRaw({}, run));
  EXPECT_EQ(std::get<ToolRaised>(*answer).type, "TimeoutError");
  EXPECT_TRUE(cancelled);
}

TEST(ToolTest, PooledFunctionsRunElsewhereAndAnswerHere) {
  asio::thread_pool pool(1);
  ToolRun run;
  std::thread::id ran_on;
  const auto tool = Send(Pooled(pool.get_executor(), [&](const Dict& given) -> Result<Value> {
    ran_on = std::this_thread::get_id();
    return Value(given);
  }));
  const auto answer = RunHere(tool->InvokeRaw({.keywords = Arguments(R"({"to":"a"})")}, run));
  EXPECT_EQ(std::get<Value>(*answer), Json(R"({"to":"a"})"));
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(ToolTest, ABlockedPoolThreadDoesNotDelayTheTimeout) {
  TestLoop loop;
  asio::thread_pool pool(1);
  std::promise<void> release;
  ToolRun run;
  const auto tool =
      Make({.name = "blocked", .timeout = 5ms},
           Pooled(pool.get_executor(), [&, gate = release.get_future().share()](const Dict&) {
             gate.wait();
             return Value();
           }));
  const auto answer = loop.Await(tool->InvokeRaw({}, run));
  EXPECT_EQ(std::get<ToolRaised>(*answer).type, "TimeoutError");
  release.set_value();
  pool.join();
}

}  // namespace
}  // namespace caisson
