// The rules by which messages move through a workflow, without I/O: same state and same results,
// same next state.
//
//   InstanceState state = Begin(workflow, input);
//   while (CanGoOn(state)) {
//     outputs = ...;                                   // One for each of PlanOf(workflow, state).
//     Advance(workflow, state, place, std::move(outputs));
//   }
//
// A mistake of the content (a wrong type, a limit) is a fate of the instance: status kFailed, with
// the reason.
//
// Trust     Messages are hostile content; their types and sizes are checked here.
// Threads   Pure functions.
// Lifetime  A PlannedStep borrows the workflow and the state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "workflow/graph.h"
#include "workflow/instance_state.h"

namespace caisson {

InstanceState Begin(const Workflow& workflow, Value input);

// Whether another superstep can begin.
bool CanGoOn(const InstanceState& state);

// One step of the next superstep. Requests are no steps: Advance opens them.
struct PlannedStep {
  std::uint32_t index = 0;  // Of the delivery; unique in the superstep.
  const Executor* executor = nullptr;
  const Value* message = nullptr;
};
std::vector<PlannedStep> PlanOf(const Workflow& workflow, const InstanceState& state);

// The instance and the time, for the ids of requests.
struct InstancePlace {
  InstanceId instance;
  SystemTime now{};
};
// Ends the superstep with the outputs of its planned steps, in their order.
void Advance(const Workflow& workflow, InstanceState& state, const InstancePlace& place,
             std::vector<Value> outputs);
// Ends the instance.
void Fail(InstanceState& state, WorkflowFault fault, std::string error);

// Answers a request: the answer becomes the message that its executor sends. Fails with
// kInvalidArgument if there is no such open request, or the answer is of the wrong type; the state
// is unchanged then.
Result<void> Answer(const Workflow& workflow, InstanceState& state, const RequestId& id,
                    Value answer);

// Returns the output of a completed instance: null without outputs, a list of several.
Value OutputOf(const InstanceState& state);

}  // namespace caisson
