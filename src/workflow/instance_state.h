// An InstanceState is everything that one instance of a workflow knows between two supersteps. A
// checkpoint holds it as bytes.
//
// Trust     Messages, answers and outputs are hostile content. Decode reads bytes that were sealed
//           (checkpoint/sealed_checkpoints.h); it still refuses what is not well formed.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/ids.h"
#include "wire/value.h"
#include "workflow/graph.h"

namespace caisson {

using RequestId = StrongId<struct RequestTag>;

enum class InstanceStatus { kRunning, kWaiting, kCompleted, kFailed };
std::string_view ToString(InstanceStatus status);

// Why an instance failed.
enum class WorkflowFault {
  kNone,
  kStep,       // A step failed.
  kType,       // A message is not of the type that an executor declares.
  kLimit,      // A limit of the workflow or of an edge was reached.
  kUncertain,  // A step may have had effects, and nobody knows which. It is not repeated.
};
std::string_view ToString(WorkflowFault fault);

// A message that the next superstep brings to an executor.
struct Delivery {
  ExecutorId to;
  Value message;
};
// A question that nobody has answered yet.
struct OpenRequest {
  RequestId id;
  ExecutorId executor;
  std::string prompt{};
  Value message{};   // What the question is about.
  Value response{};  // The JSON Schema of an answer.
  SystemTime asked_at{};
};
struct WorkflowOutput {
  ExecutorId executor;
  Value value;
};
// A call of a step that waits for an approval (runs/run_service.h).
struct OpenApproval {
  ApprovalId id;
  RunId run;
  ExecutorId executor;
};

struct InstanceState {
  InstanceStatus status = InstanceStatus::kRunning;
  WorkflowFault fault = WorkflowFault::kNone;
  std::string error{};  // For a failed instance.
  std::string workflow;
  std::string digest;           // Of the workflow. An instance continues only with the same one.
  std::uint64_t number = 0;     // Of this checkpoint in its instance, from 1.
  std::uint64_t superstep = 0;  // The last one that has ended.
  std::vector<Delivery> deliveries{};
  // What each fan-in still holds: by its index, and by the index of its source.
  std::map<std::uint32_t, std::vector<std::deque<Value>>> gathered{};
  Dict shared{};
  std::vector<OpenRequest> requests{};
  // The requests and approvals that steps of the current superstep wait for, if it waits.
  std::vector<OpenRequest> inner_requests{};
  std::vector<OpenApproval> approvals{};
  std::vector<WorkflowOutput> outputs{};
  std::map<std::uint32_t, std::uint32_t> taken{};  // How often each limited edge was.
  std::uint32_t messages = 0;
  // Set while a superstep is under way: its effects may have begun at this time.
  std::optional<SystemTime> begun_at{};
};

// Fails with kResourceExhausted if the state is larger than `max_bytes`.
Result<std::string> Encode(const InstanceState& state, std::uint64_t max_bytes);
// Fails with kFailedPrecondition if the bytes are no state.
Result<InstanceState> DecodeInstanceState(std::string_view bytes);

}  // namespace caisson
