// A Workflow is a checked graph: executors, and the edges along which their messages travel.
//
// An executor receives one message at a time and sends one. Its message goes along every plain
// edge whose condition it meets (several edges are a fan-out), along the first case of each switch
// that it meets, and into every fan-in, which delivers when each of its sources has sent. The
// messages of executors without an edge are the outputs of the workflow.
//
// Trust     The operator's or the program's. Build it with WorkflowBuilder, which checks it.
// Threads   Immutable and shared.
// Lifetime  Shared by the instances that run it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/strong_id.h"
#include "tools/schema.h"
#include "wire/value.h"
#include "workflow/message_type.h"

namespace caisson {

class Workflow;
using ExecutorId = StrongId<struct ExecutorTag>;

// Python. The message and the shared state are data in the file kInputsFile, never source text. The
// value of the last expression is the message that is sent.
struct CodeStep {
  std::string code;
};
// One call of a tool of the host. `arguments` is a template (arguments_template.h); None: the
// message itself, which must be an object.
struct ToolStep {
  std::string tool;
  Value arguments{};
};
// One answer of an agent. A message that is no string is given to it as JSON.
struct AgentStep {
  std::string agent;
};
// A question to a person. The answer is the message that is sent.
struct RequestStep {
  std::string prompt;
};
// Another workflow, as an instance of its own. Its output is sent; several outputs as a list.
struct SubWorkflowStep {
  std::shared_ptr<const Workflow> workflow;
};
using Step = std::variant<CodeStep, ToolStep, AgentStep, RequestStep, SubWorkflowStep>;

struct Executor {
  ExecutorId id;
  Step step;
  MessageType input{};   // A message of another type ends the instance.
  MessageType output{};  // The same for messages that it sends, and for answers of people.
  std::string
      save_as{};  // The key of the shared state that keeps its latest message; may be empty.
};

// A message that meets `when` goes to `to`. nullopt: every message does.
struct Edge {
  ExecutorId from;
  ExecutorId to;
  std::optional<Schema> when{};
  std::optional<std::uint32_t> limit{};  // How often; one more message ends the instance.
};
// The first case that a message meets takes it, unless its limit is used up.
struct Switch {
  struct Case {
    ExecutorId to;
    std::optional<Schema> when{};
    std::optional<std::uint32_t> limit{};
  };
  ExecutorId from;
  std::vector<Case> cases;
  std::optional<ExecutorId> otherwise{};  // nullopt: the message is dropped.
};
// Delivers {source: message} when each source has sent one.
struct FanIn {
  std::vector<ExecutorId> from;
  ExecutorId to;
};

// Bounds of one instance. Reaching one ends it.
struct WorkflowLimits {
  std::uint32_t supersteps = 100;
  std::uint32_t messages = 1000;
  std::uint64_t message_bytes = std::uint64_t{1} << 20;  // As canonical JSON.
  std::uint64_t state_bytes = std::uint64_t{8} << 20;    // Everything that a checkpoint holds.
  std::uint32_t steps_at_once = 8;                       // In one superstep; others wait.
};
inline constexpr WorkflowLimits kMaxWorkflowLimits = {.supersteps = 10'000,
                                                      .messages = 100'000,
                                                      .message_bytes = std::uint64_t{4} << 20,
                                                      .state_bytes = std::uint64_t{32} << 20,
                                                      .steps_at_once = 64};

// Everything that a Workflow consists of.
struct WorkflowParts {
  std::string name;
  std::string description{};
  std::optional<ExecutorId> start{};
  std::vector<Executor> executors{};  // In the order in which they were added.
  std::vector<Edge> edges{};
  std::vector<Switch> switches{};
  std::vector<FanIn> fan_ins{};
  WorkflowLimits limits{};
};

class Workflow {
 public:
  const WorkflowParts& parts() const { return parts_; }
  const std::string& name() const { return parts_.name; }
  const WorkflowLimits& limits() const { return parts_.limits; }
  const Executor& start() const { return *Find(*parts_.start); }
  const Executor* Find(const ExecutorId& id) const;  // Null if there is none.
  // Returns whether the messages of this executor are outputs of the workflow.
  bool IsOutput(const ExecutorId& id) const;
  // Changes with everything that matters to an instance. 64 hexadecimal digits.
  const std::string& digest() const { return digest_; }
  // The number of workflows inside each other, at least 1.
  std::size_t depth() const;

 private:
  friend class WorkflowBuilder;
  Workflow(WorkflowParts parts, std::string digest)
      : parts_(std::move(parts)), digest_(std::move(digest)) {}

  WorkflowParts parts_;
  std::string digest_;
};

// Returns "code", "tool", "agent", "request" or "workflow".
std::string_view KindOf(const Step& step);

// Returns one edge for each way from one executor to another: plain edges, cases and fan-ins.
struct Way {
  const ExecutorId* from;
  const ExecutorId* to;
  bool is_bounded = false;  // It has a limit.
};
std::vector<Way> WaysOf(const WorkflowParts& parts);

}  // namespace caisson
