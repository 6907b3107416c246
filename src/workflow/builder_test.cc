#include "workflow/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MessageType Type(const char* word) {
  return *MessageType::FromSchema(Value(word));
}
Place Line(std::uint32_t line) {
  return {"w.toml", line};
}
CodeStep Code() {
  return {.code = "1"};
}
std::string MistakesIn(const WorkflowBuilder& builder) {
  const auto built = builder.Build();
  return built ? "" : built.error().message();
}

TEST(BuilderTest, BuildsAGraph) {
  const auto built = WorkflowBuilder("report")
                         .AddCode("draft", Code(), {.output = Type("string")})
                         .AddRequest("review", {.prompt = "Send?"}, {.input = Type("string")})
                         .AddEdge("draft", "review")
                         .Start("draft")
                         .Build();
  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ((*built)->start().id.str(), "draft");
  EXPECT_TRUE((*built)->IsOutput(ExecutorId("review")));
  EXPECT_FALSE((*built)->IsOutput(ExecutorId("draft")));
}

TEST(BuilderTest, NamesTheLineOfTheSourceOfAMistake) {
  const std::uint_least32_t line = std::source_location::current().line() + 1;
  const auto builder = WorkflowBuilder("report").AddCode("a b", Code()).Start("a b");
  EXPECT_THAT(MistakesIn(builder),
              AllOf(HasSubstr("builder_test.cc:" + std::to_string(line) + ": \"a b\" is no name")));
}

TEST(BuilderTest, ReportsAllMistakesInTheOrderOfTheFile) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddEdge("one", "tow", {}, Line(9))
      .AddCode("one", Code(), {}, Line(3))
      .AddCode("two", Code(), {}, Line(4))
      .AddCode("one", Code(), {}, Line(5));
  EXPECT_EQ(MistakesIn(builder),
            "w.toml:1: the workflow has no start: name the executor that gets the input\n"
            "w.toml:5: there is another executor \"one\"\n"
            "w.toml:9: to: there is no executor \"tow\"; did you mean \"two\"?");
}

TEST(BuilderTest, RefusesAnExecutorThatNoMessageReaches) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddCode("a", Code(), {}, Line(2)).AddCode("b", Code(), {}, Line(3)).Start("a", Line(4));
  EXPECT_EQ(MistakesIn(builder),
            "w.toml:3: no message reaches executor \"b\": no edge leads to it from the start");
}

TEST(BuilderTest, RefusesTypesThatCannotMeet) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddCode("a", Code(), {.output = Type("string")}, Line(2))
      .AddCode("b", Code(), {.input = Type("integer")}, Line(3))
      .AddEdge("a", "b", {}, Line(4))
      .Start("a", Line(5));
  EXPECT_EQ(MistakesIn(builder), "w.toml:4: \"a\" sends string, but \"b\" accepts integer");
}

TEST(BuilderTest, LetsAnIntegerMeetANumber) {
  const auto builder = WorkflowBuilder("report")
                           .AddCode("a", Code(), {.output = Type("integer")})
                           .AddCode("b", Code(), {.input = Type("number")})
                           .AddEdge("a", "b")
                           .Start("a");
  EXPECT_EQ(MistakesIn(builder), "");
}

TEST(BuilderTest, RefusesACycleWithoutABound) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddCode("a", Code(), {}, Line(2))
      .AddCode("b", Code(), {}, Line(3))
      .AddCode("c", Code(), {}, Line(4))
      .AddEdge("a", "b", {}, Line(5))
      .AddEdge("b", "c", {}, Line(6))
      .Start("a", Line(8));
  WorkflowBuilder unbounded = builder;
  unbounded.AddEdge("c", "b", {}, Line(7));
  EXPECT_EQ(MistakesIn(unbounded),
            "w.toml:2: the cycle b -> c -> b has no bound: give one of its edges a `limit`");
  EXPECT_EQ(MistakesIn(builder.AddEdge("c", "b", {.limit = 3}, Line(7))), "");
}

TEST(BuilderTest, RefusesFanInsThatCannotDeliver) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddCode("a", Code(), {}, Line(2))
      .AddCode("b", Code(), {.input = Type("string")}, Line(3))
      .AddFanIn({"a"}, "b", Line(4))
      .AddFanIn({"a", "a"}, "b", Line(5))
      .Start("a", Line(6));
  EXPECT_THAT(MistakesIn(builder),
              AllOf(HasSubstr("w.toml:4: a fan-in needs at least two sources"),
                    HasSubstr("w.toml:5: the fan-in names a source twice"),
                    HasSubstr("w.toml:5: a fan-in delivers object, but \"b\" accepts string")));
}

TEST(BuilderTest, RefusesACaseAfterOneThatTakesEverything) {
  WorkflowBuilder builder("report", Line(1));
  builder.AddCode("a", Code(), {}, Line(2))
      .AddCode("b", Code(), {}, Line(3))
      .AddSwitch(
          {.from = ExecutorId("a"), .cases = {{.to = ExecutorId("b")}, {.to = ExecutorId("b")}}},
          Line(4))
      .Start("a", Line(6));
  EXPECT_THAT(MistakesIn(builder), HasSubstr("w.toml:4: the case for \"b\" takes every message"));
}

TEST(BuilderTest, RefusesStepsWithoutContentAndLimitsOutOfRange) {
  WorkflowBuilder builder("", Line(1));
  builder.AddCode("a", {.code = ""}, {.save_as = "x y"}, Line(2))
      .AddTool("b", {.tool = "t", .arguments = Value("x")}, {}, Line(3))
      .AddWorkflow("c", {}, {}, Line(4))
      .Limit({.supersteps = 0, .messages = 1u << 30}, Line(5));
  EXPECT_THAT(MistakesIn(builder),
              AllOf(HasSubstr("w.toml:1: \"\" is no name"),
                    HasSubstr("w.toml:2: executor \"a\" has no code"),
                    HasSubstr("w.toml:2: save_as: \"x y\" is no name"),
                    HasSubstr("w.toml:3: executor \"b\": arguments must be an object"),
                    HasSubstr("w.toml:4: executor \"c\" has no workflow"),
                    HasSubstr("w.toml:5: limits.supersteps must be between 1 and 10000"),
                    HasSubstr("w.toml:5: limits.messages must be between 1 and 100000")));
}

TEST(BuilderTest, BoundsTheSizeAndTheDepth) {
  WorkflowBuilder large("large", Line(1));
  for (std::size_t i = 0; i <= WorkflowBuilder::kMaxExecutors; ++i) {
    large.AddCode("e" + std::to_string(i), Code());
  }
  EXPECT_THAT(MistakesIn(large), HasSubstr("w.toml:1: the workflow is too large"));

  std::shared_ptr<const Workflow> inner =
      *WorkflowBuilder("w").AddCode("a", Code()).Start("a").Build();
  for (int depth = 1; depth < 4; ++depth) {
    const auto next = WorkflowBuilder("w").AddWorkflow("a", {.workflow = inner}).Start("a").Build();
    ASSERT_TRUE(next) << next.error().message();
    inner = *next;
  }
  EXPECT_THAT(MistakesIn(WorkflowBuilder("w").AddWorkflow("a", {.workflow = inner}).Start("a")),
              HasSubstr("nested too deeply"));
}

TEST(BuilderTest, GivesEachGraphADigestOfItsOwn) {
  const auto digest = [](const char* code, std::optional<std::uint32_t> limit) {
    return (*WorkflowBuilder("w")
                 .AddCode("a", {.code = code})
                 .AddCode("b", Code())
                 .AddEdge("a", "b", {.limit = limit})
                 .Start("a")
                 .Build())
        ->digest();
  };
  EXPECT_EQ(digest("1", 2), digest("1", 2));
  EXPECT_NE(digest("1", 2), digest("2", 2));
  EXPECT_NE(digest("1", 2), digest("1", 3));
  EXPECT_NE(digest("1", 2), digest("1", std::nullopt));
}

}  // namespace
}  // namespace caisson
