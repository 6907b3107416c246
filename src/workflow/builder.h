// A WorkflowBuilder collects the parts of a workflow and checks them all at once.
//
//   auto report = WorkflowBuilder("report")
//       .AddCode("draft", {.code = "..."})
//       .AddRequest("review", {.prompt = "Send it?"}, {.output = Type("boolean")})
//       .AddEdge("draft", "review")
//       .Start("draft")
//       .Build();
//
// Build fails with one line for each mistake, each with the file and line of the part: duplicate
// and unknown names, executors that no message reaches, types that cannot meet, cycles without a
// limit, a missing start.
//
// Trust     The operator's or the program's. Names and sizes are bounded.
// Threads   One.
// Lifetime  A value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workflow/graph.h"

namespace caisson {

// Where a part was written: in the C++ source, or in a declaration.
struct Place {
  std::string file;
  std::uint32_t line = 0;

  Place(const std::source_location& here)  // NOLINT(google-explicit-constructor)
      : file(here.file_name()), line(here.line()) {}
  Place(std::string name, std::uint32_t number) : file(std::move(name)), line(number) {}
};

// The other properties of an executor, and of an edge; see graph.h.
struct ExecutorTraits {
  MessageType input{};
  MessageType output{};
  std::string save_as{};
};
struct EdgeTraits {
  std::optional<Schema> when{};
  std::optional<std::uint32_t> limit{};
};

class WorkflowBuilder {
 public:
  static constexpr std::size_t kMaxExecutors = 200;
  static constexpr std::size_t kMaxEdges = 1000;
  static constexpr std::size_t kMaxDepth = 4;  // Workflows inside each other.

  explicit WorkflowBuilder(std::string name, Place at = std::source_location::current());

  WorkflowBuilder& Describe(std::string description);
  WorkflowBuilder& Limit(const WorkflowLimits& limits, Place at = std::source_location::current());

  WorkflowBuilder& AddCode(std::string id, CodeStep step, ExecutorTraits traits = {},
                           Place at = std::source_location::current());
  WorkflowBuilder& AddTool(std::string id, ToolStep step, ExecutorTraits traits = {},
                           Place at = std::source_location::current());
  WorkflowBuilder& AddAgent(std::string id, AgentStep step, ExecutorTraits traits = {},
                            Place at = std::source_location::current());
  WorkflowBuilder& AddRequest(std::string id, RequestStep step, ExecutorTraits traits = {},
                              Place at = std::source_location::current());
  WorkflowBuilder& AddWorkflow(std::string id, SubWorkflowStep step, ExecutorTraits traits = {},
                               Place at = std::source_location::current());
  WorkflowBuilder& Add(Executor executor, Place at);

  WorkflowBuilder& AddEdge(std::string from, std::string to, EdgeTraits traits = {},
                           Place at = std::source_location::current());
  WorkflowBuilder& AddSwitch(Switch one, Place at = std::source_location::current());
  WorkflowBuilder& AddFanIn(std::vector<std::string> from, std::string to,
                            Place at = std::source_location::current());
  WorkflowBuilder& Start(std::string id, Place at = std::source_location::current());

  // Adds a mistake that the caller found. Build then fails with it.
  void Complain(const Place& at, std::string_view what);

  Result<std::shared_ptr<const Workflow>> Build() const;

 private:
  friend class WorkflowChecks;
  struct Problem {
    Place at;
    std::string what;
  };
  // Where each part was written, by its index in `parts_`.
  struct Places {
    Place name;
    std::optional<Place> start{};
    std::vector<Place> executors{};
    std::vector<Place> edges{};
    std::vector<Place> switches{};
    std::vector<Place> fan_ins{};
  };

  WorkflowParts parts_;
  Places places_;
  std::vector<Problem> problems_{};
};

}  // namespace caisson
