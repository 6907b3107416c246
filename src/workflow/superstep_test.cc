#include "workflow/superstep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "wire/json.h"
#include "wire/object.h"
#include "workflow/builder.h"

namespace caisson {
namespace {

using testing::HasSubstr;

const InstancePlace kPlace = {.instance = InstanceId("wf_1")};

Value Json(std::string_view text) {
  return *ParseJson(text);
}
Schema When(std::string_view text) {
  return *Schema::Compile(Json(text));
}
MessageType Type(const char* word) {
  return *MessageType::FromSchema(Value(word));
}
std::shared_ptr<const Workflow> Built(const WorkflowBuilder& builder) {
  auto built = builder.Build();
  EXPECT_TRUE(built) << built.error().message();
  return *built;
}
CodeStep Code() {
  return {.code = "1"};
}

using Steps = std::map<std::string, std::function<Value(const Value&)>>;

// Runs supersteps until the instance waits or has ended. A step without a function returns its
// message.
void RunAll(const Workflow& workflow, InstanceState& state, const Steps& steps = {}) {
  while (CanGoOn(state)) {
    std::vector<Value> outputs;
    for (const PlannedStep& step : PlanOf(workflow, state)) {
      const auto found = steps.find(step.executor->id.str());
      outputs.push_back(found == steps.end() ? *step.message : found->second(*step.message));
    }
    Advance(workflow, state, kPlace, std::move(outputs));
  }
}

TEST(SuperstepTest, SendsAMessageAlongEveryEdgeWhoseConditionItMeets) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("a", Code())
                                  .AddCode("small", Code())
                                  .AddCode("any", Code())
                                  .AddEdge("a", "small", {.when = When(R"({"maximum": 5})")})
                                  .AddEdge("a", "any")
                                  .Start("a"));
  InstanceState state = Begin(*workflow, Json("3"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.status, InstanceStatus::kCompleted);
  EXPECT_EQ(OutputOf(state), Json("[3, 3]"));
  state = Begin(*workflow, Json("9"));
  RunAll(*workflow, state);
  EXPECT_EQ(OutputOf(state), Json("9"));
  EXPECT_EQ(state.superstep, 2u);
}

TEST(SuperstepTest, TakesTheFirstCaseOfASwitchAndThenTheDefault) {
  const auto workflow =
      Built(WorkflowBuilder("w")
                .AddCode("a", Code())
                .AddCode("b", Code(), {.save_as = "b"})
                .AddCode("c", Code(), {.save_as = "c"})
                .AddSwitch({.from = ExecutorId("a"),
                            .cases = {{.to = ExecutorId("b"), .when = When(R"({"minimum": 1})")}},
                            .otherwise = ExecutorId("c")})
                .Start("a"));
  InstanceState state = Begin(*workflow, Json("1"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.shared, Object({{"b", Json("1")}}));
  state = Begin(*workflow, Json("0"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.shared, Object({{"c", Json("0")}}));
}

TEST(SuperstepTest, DeliversAFanInWhenEachSourceHasSent) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("a", Code())
                                  .AddCode("fast", Code())
                                  .AddCode("slow", Code())
                                  .AddCode("slower", Code())
                                  .AddCode("join", Code())
                                  .AddEdge("a", "fast")
                                  .AddEdge("a", "slow")
                                  .AddEdge("slow", "slower")
                                  .AddFanIn({"fast", "slower"}, "join")
                                  .Start("a"));
  InstanceState state = Begin(*workflow, Json("1"));
  RunAll(*workflow, state, {{"slower", [](const Value&) { return Json("2"); }}});
  EXPECT_EQ(OutputOf(state), Json(R"({"fast": 1, "slower": 2})"));
  EXPECT_TRUE(state.gathered.empty());
}

TEST(SuperstepTest, EndsAnInstanceWhoseFanInCanNeverDeliver) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("a", Code())
                                  .AddCode("b", Code())
                                  .AddCode("join", Code())
                                  .AddEdge("a", "b", {.when = When("false")})
                                  .AddFanIn({"a", "b"}, "join")
                                  .Start("a"));
  InstanceState state = Begin(*workflow, Json("1"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.status, InstanceStatus::kFailed);
  EXPECT_THAT(state.error, HasSubstr("a fan-in waits"));
}

TEST(SuperstepTest, WaitsForAPersonWhileOtherBranchesGoOn) {
  const auto workflow =
      Built(WorkflowBuilder("w")
                .AddCode("a", Code())
                .AddRequest("ask", {.prompt = "Good?"}, {.output = Type("boolean")})
                .AddCode("b", Code())
                .AddCode("c", Code(), {.save_as = "c"})
                .AddFanIn({"ask", "c"}, "end")
                .AddCode("end", Code())
                .AddEdge("a", "ask")
                .AddEdge("a", "b")
                .AddEdge("b", "c")
                .Start("a"));
  InstanceState state = Begin(*workflow, Json("1"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.status, InstanceStatus::kWaiting);
  EXPECT_EQ(state.shared, Object({{"c", Json("1")}}));
  ASSERT_EQ(state.requests.size(), 1u);
  const RequestId id = state.requests[0].id;
  EXPECT_EQ(state.requests[0].message, Json("1"));
  EXPECT_FALSE(Answer(*workflow, state, RequestId("req_other"), Value(true)));
  EXPECT_THAT(Answer(*workflow, state, id, Value("yes")).error().message(),
              HasSubstr("expected boolean"));
  ASSERT_TRUE(Answer(*workflow, state, id, Value(true)));
  EXPECT_FALSE(Answer(*workflow, state, id, Value(true))) << "Answered once.";
  RunAll(*workflow, state);
  EXPECT_EQ(OutputOf(state), Json(R"({"ask": true, "c": 1})"));
}

TEST(SuperstepTest, GivesRequestsOfOtherInstancesOtherIds) {
  const auto workflow =
      Built(WorkflowBuilder("w").AddRequest("ask", {.prompt = "Good?"}).Start("ask"));
  InstanceState one = Begin(*workflow, Json("1"));
  InstanceState two = one;
  Advance(*workflow, one, {.instance = InstanceId("wf_1")}, {});
  Advance(*workflow, two, {.instance = InstanceId("wf_2")}, {});
  EXPECT_NE(one.requests[0].id, two.requests[0].id);
}

WorkflowBuilder Loop(std::uint32_t limit) {
  return WorkflowBuilder("w")
      .AddCode("count", Code())
      .AddCode("end", Code())
      .AddEdge("count", "count", {.when = When(R"({"maximum": 4})"), .limit = limit})
      .AddEdge("count", "end", {.when = When(R"({"minimum": 5})")})
      .Start("count");
}
const Steps kCount = {{"count", [](const Value& n) { return Value(*n.If<std::int64_t>() + 1); }}};

TEST(SuperstepTest, GoesAroundABoundedCycle) {
  const auto workflow = Built(Loop(10));
  InstanceState state = Begin(*workflow, Json("0"));
  RunAll(*workflow, state, kCount);
  EXPECT_EQ(OutputOf(state), Json("5"));
  EXPECT_EQ(state.superstep, 6u);
}

TEST(SuperstepTest, EndsAnInstanceAtTheLimitOfAnEdge) {
  const auto workflow = Built(Loop(3));
  InstanceState state = Begin(*workflow, Json("0"));
  RunAll(*workflow, state, kCount);
  EXPECT_EQ(state.fault, WorkflowFault::kLimit);
  EXPECT_THAT(state.error, HasSubstr("\"count\" to \"count\" was taken as often"));
}

TEST(SuperstepTest, PassesOverACaseWhoseLimitIsUsedUp) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("try", Code())
                                  .AddCode("give_up", Code())
                                  .AddSwitch({.from = ExecutorId("try"),
                                              .cases = {{.to = ExecutorId("try"), .limit = 2}},
                                              .otherwise = ExecutorId("give_up")})
                                  .Start("try"));
  InstanceState state = Begin(*workflow, Json("0"));
  RunAll(*workflow, state, {{"try", kCount.at("count")}});
  EXPECT_EQ(OutputOf(state), Json("3"));
}

TEST(SuperstepTest, BoundsSuperstepsAndMessages) {
  const auto slow = Built(Loop(10).Limit({.supersteps = 3}));
  InstanceState state = Begin(*slow, Json("0"));
  RunAll(*slow, state, kCount);
  EXPECT_THAT(state.error, HasSubstr("limits.supersteps"));
  EXPECT_EQ(state.superstep, 3u);

  const auto few = Built(Loop(10).Limit({.messages = 3}));
  state = Begin(*few, Json("0"));
  RunAll(*few, state, kCount);
  EXPECT_THAT(state.error, HasSubstr("limits.messages"));

  const auto short_messages = Built(Loop(10).Limit({.message_bytes = 10}));
  state = Begin(*short_messages, Value(std::string(11, 'x')));
  EXPECT_THAT(state.error, HasSubstr("limits.message_bytes"));
}

TEST(SuperstepTest, EndsAnInstanceOnAMessageOfTheWrongType) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("a", Code(), {.input = Type("integer")})
                                  .AddCode("b", Code(), {.input = Type("string")})
                                  .AddEdge("a", "b")
                                  .Start("a"));
  InstanceState state = Begin(*workflow, Value("x"));
  EXPECT_EQ(state.fault, WorkflowFault::kType);
  state = Begin(*workflow, Json("1"));
  RunAll(*workflow, state);
  EXPECT_EQ(state.fault, WorkflowFault::kType);
  EXPECT_THAT(state.error, HasSubstr("\"b\" cannot take a message: expected string"));
}

TEST(SuperstepTest, RefusesMessagesThatAreNoJson) {
  const auto workflow = Built(WorkflowBuilder("w").AddCode("a", Code()).Start("a"));
  const InstanceState state = Begin(*workflow, Value(Bytes{"x"}));
  EXPECT_EQ(state.fault, WorkflowFault::kType);
}

}  // namespace
}  // namespace caisson
