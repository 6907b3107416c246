#include "workflow/mermaid.h"

#include <gtest/gtest.h>

#include "wire/json.h"
#include "workflow/builder.h"

namespace caisson {
namespace {

TEST(MermaidTest, DrawsEveryKindOfEdge) {
  const auto when = *Schema::Compile(*ParseJson(R"({"const": "<b>\"x"})"));
  const auto workflow =
      *WorkflowBuilder("w")
           .AddCode("a", {.code = "1"})
           .AddRequest("b", {.prompt = "?"})
           .AddAgent("c", {.agent = "x"})
           .AddTool("d", {.tool = "t"})
           .AddEdge("a", "b", {.limit = 2})
           .AddEdge("a", "c")
           .AddFanIn({"b", "c"}, "d")
           .AddSwitch({.from = ExecutorId("d"),
                       .cases = {{.to = ExecutorId("a"), .when = when, .limit = 1}}})
           .Start("a")
           .Build();
  EXPECT_EQ(ToMermaid(*workflow), R"(flowchart TD
  n0["a<br/>code, start"]
  n1{{"b<br/>request"}}
  n2(["c<br/>agent"])
  n3["d<br/>tool"]
  n0 -- "at most 2" --> n1
  n0 --> n2
  n3 -- "case 1 #123;#34;const#34;#58;#34;#60;b#62;#92;#34;x#34;#125;#44; at most 1" --> n0
  join0(("all"))
  n1 --> join0
  n2 --> join0
  join0 --> n3
)");
}

}  // namespace
}  // namespace caisson
