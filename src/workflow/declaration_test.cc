#include "workflow/declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workflow/builder.h"

namespace caisson {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<std::shared_ptr<const Workflow>> Read(std::string_view json, const FindWorkflow& find = {}) {
  return ReadDeclaration(*ParseLocatedJson(json), "w.json", find);
}

constexpr std::string_view kReport = R"({
  "name": "report", "description": "Writes a report.", "start": "draft",
  "limits": {"supersteps": 20},
  "executor": [
    {"id": "draft", "kind": "code", "code": "1", "output": "integer", "save_as": "draft"},
    {"id": "a", "kind": "tool", "tool": "send", "arguments": {"x": {"$message": ""}}},
    {"id": "b", "kind": "agent", "agent": "analyst"},
    {"id": "join", "kind": "request", "prompt": "Good?", "output": {"enum": ["yes", "no"]}},
    {"id": "end", "kind": "code", "code": "2"}
  ],
  "edge": [
    {"from": "draft", "to": ["a", "b"]},
    {"from": ["a", "b"], "to": "join"}
  ],
  "switch": [
    {"from": "join", "cases": [{"when": {"const": "yes"}, "to": "end"}, {"to": "draft", "limit": 2}]}
  ]
})";

TEST(DeclarationTest, ReadsEveryKindOfStepAndEdge) {
  const auto read = Read(kReport);
  ASSERT_TRUE(read) << read.error().message();
  const WorkflowParts& parts = (*read)->parts();
  EXPECT_EQ(parts.executors.size(), 5u);
  EXPECT_EQ(parts.executors[0].save_as, "draft");
  EXPECT_EQ(parts.edges.size(), 2u);
  EXPECT_EQ(parts.fan_ins.size(), 1u);
  EXPECT_EQ(parts.switches[0].cases[1].limit, 2u);
  EXPECT_EQ(parts.limits.supersteps, 20u);
  EXPECT_EQ(KindOf(parts.executors[2].step), "agent");
}

TEST(DeclarationTest, MakesTheSameGraphAsTheBuilder) {
  const auto read = Read(R"({"name": "w", "start": "a", "executor": [
    {"id": "a", "kind": "code", "code": "1"}, {"id": "b", "kind": "code", "code": "2"}],
    "edge": [{"from": "a", "to": "b", "limit": 2}]})");
  const auto built = WorkflowBuilder("w")
                         .AddCode("a", {.code = "1"})
                         .AddCode("b", {.code = "2"})
                         .AddEdge("a", "b", {.limit = 2})
                         .Start("a")
                         .Build();
  EXPECT_EQ((*read)->digest(), (*built)->digest());
}

TEST(DeclarationTest, NamesTheLineOfEachMistake) {
  const auto read = Read(R"({
  "name": "w", "start": "a",
  "executor": [
    {"id": "a", "kind": "code",
     "code": 7, "colour": 1},
    {"id": "b", "kind": "cod"},
    {"id": "c", "kind": "request", "prompt": "?", "output": "strin"},
    7
  ],
  "edge": [
    {"from": "a", "to": "b", "when": {"type": 1}},
    {"from": ["a", "b"], "to": "c",
     "limit": 0},
    {"to": "b"}
  ],
  "limits": {"steps": 1},
  "edges": []
})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(),
              AllOf(HasSubstr("w.json:5: code must be a string"),
                    HasSubstr("w.json:5: colour is not known"),
                    HasSubstr("w.json:6: kind must be one of code, tool, agent, request, workflow"),
                    HasSubstr("w.json:7: output is no type: \"strin\" is not a type; did you mean "
                              "\"string\"?"),
                    HasSubstr("w.json:8: a table is expected here"),
                    HasSubstr("w.json:11: when is no JSON Schema"),
                    HasSubstr("w.json:13: limit must be a whole number above 0")));
  EXPECT_THAT(
      read.error().message(),
      AllOf(HasSubstr("w.json:14: from is missing"), HasSubstr("w.json:16: steps is not known"),
            HasSubstr("w.json:17: edges is not known; did you mean \"edge\"?")));
}

TEST(DeclarationTest, FindsOtherWorkflowsByName) {
  const auto inner = *WorkflowBuilder("inner").AddCode("a", {.code = "1"}).Start("a").Build();
  constexpr std::string_view kText =
      R"({"name": "w", "start": "a", "executor": [{"id": "a", "kind": "workflow", "workflow": "inner"}]})";
  const auto find = [&](std::string_view name) { return name == "inner" ? inner : nullptr; };
  EXPECT_TRUE(Read(kText, find));
  EXPECT_THAT(Read(kText).error().message(),
              HasSubstr("w.json:1: workflow \"inner\" is not known"));
}

TEST(DeclarationTest, RefusesADocumentThatIsNoTable) {
  EXPECT_THAT(Read("[]").error().message(), HasSubstr("a table is expected here"));
}

}  // namespace
}  // namespace caisson
