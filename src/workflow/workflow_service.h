// A WorkflowService runs instances of workflows. Each superstep ends with a checkpoint, so that an
// instance continues on any replica, from any of its checkpoints, but only for its owner (I3).
//
//   auto view = co_await workflows.Start(owner, {.workflow = "report", .input = Value("Q3")});
//   // view->status == kWaiting: somebody must answer view->requests or decide view->approvals.
//   view = co_await workflows.Resume(owner, {.instance = view->instance,
//                                            .answers = {{view->requests[0].id, Value(true)}}});
//
// A superstep is marked in a checkpoint before its steps begin. That mark is a compare-and-swap: of
// two processes that continue one instance, only one writes the next checkpoint. A superstep
// that was interrupted is asked for again; its steps return what they have already done
// (step_runner.h).
//
// Trust     Ids, input and answers come from clients and are checked here. Instances of other
//           owners are not found (I4).
// Threads   Any executor that runs one handler at a time (a strand). Events are called on it.
// Lifetime  Everything in the options outlives it and its coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "identity/identity.h"
#include "store/audit.h"
#include "store/checkpoints.h"
#include "workflow/graph.h"
#include "workflow/instance_state.h"
#include "workflow/step_runner.h"

namespace caisson {

// What an instance does, as it happens.
struct SuperstepBegan {
  std::uint64_t superstep = 0;
  std::vector<ExecutorId> executors{};
};
struct SuperstepEnded {
  std::uint64_t superstep = 0;
  CheckpointId checkpoint;
};
struct OutputSent {
  WorkflowOutput output;
};
using WorkflowEvent = std::variant<SuperstepBegan, SuperstepEnded, OutputSent>;
using OnWorkflowEvent = std::function<void(const WorkflowEvent&)>;

struct RequestAnswer {
  RequestId request;
  Value answer{};
};

struct StartInstance {
  std::string workflow;
  Value input{};
  std::optional<InstanceId> instance{};  // nullopt: the service chooses one.
  // The caller that its steps act for. Null: none in particular.
  std::shared_ptr<const CallerContext> caller{};
  OnWorkflowEvent on_event{};
};
struct ResumeInstance {
  InstanceId instance;
  std::optional<CheckpointId> from{};  // nullopt: the newest one.
  std::vector<RequestAnswer> answers{};
  std::string answered_by{};  // For the audit log.
  std::shared_ptr<const CallerContext> caller{};
  OnWorkflowEvent on_event{};
};

struct WorkflowView {
  InstanceId instance;
  std::string workflow{};
  InstanceStatus status = InstanceStatus::kRunning;
  WorkflowFault fault = WorkflowFault::kNone;
  std::string error{};
  std::uint64_t superstep = 0;
  CheckpointId checkpoint{""};
  std::vector<WorkflowOutput> outputs{};
  std::vector<OpenRequest> requests{};
  std::vector<OpenApproval> approvals{};
};

struct WorkflowServiceOptions {
  CheckpointStore& checkpoints;  // Sealed ones.
  StepRunner& steps;
  std::vector<std::shared_ptr<const Workflow>> workflows;
  AuditLog* audit = nullptr;             // Gets the answers of people; null: nobody does.
  CallerHost* caller_host = nullptr;     // Null: steps act for no caller.
  const Clock* clock = nullptr;          // Null: the system's clock.
  std::uint32_t keep_checkpoints = 200;  // Of one instance.
  std::uint32_t max_at_once = 64;        // Instances of one owner under way here.
};

class WorkflowService {
 public:
  explicit WorkflowService(WorkflowServiceOptions options) : options_(std::move(options)) {}

  std::vector<std::shared_ptr<const Workflow>> workflows() const { return options_.workflows; }
  // Null: there is none.
  std::shared_ptr<const Workflow> Find(std::string_view name) const;

  // Returns when the instance has ended or waits for people. Fails with
  //   kNotFound            no such workflow, or no such instance or checkpoint of this owner
  //   kInvalidArgument     the input or an answer is of the wrong type; no such open request
  //   kFailedPrecondition  the instance exists; another process continues it; the workflow has
  //                        changed since it began
  //   kResourceExhausted   too many instances of this owner are under way
  // and with the failures of a step that can be asked for again: resume the instance then.
  asio::awaitable<Result<WorkflowView>> Start(IsolationKey owner, StartInstance start);
  asio::awaitable<Result<WorkflowView>> Resume(IsolationKey owner, ResumeInstance resume);

  asio::awaitable<Result<WorkflowView>> Look(IsolationKey owner, InstanceId instance);
  // Oldest first. Fails with kNotFound if there is none.
  asio::awaitable<Result<std::vector<CheckpointId>>> Checkpoints(IsolationKey owner,
                                                                 InstanceId instance);

 private:
  struct Driven;
  class Turnstile;
  Result<Turnstile> Enter(const IsolationKey& owner);

  asio::awaitable<Result<void>> Load(Driven& driven, std::optional<CheckpointId> from);
  asio::awaitable<Result<void>> Save(Driven& driven);
  asio::awaitable<Result<void>> TakeAnswers(Driven& driven, const ResumeInstance& resume);
  asio::awaitable<Result<WorkflowView>> Drive(Driven& driven);
  asio::awaitable<Result<void>> RunSuperstep(Driven& driven);
  asio::awaitable<Result<StepResult>> RunStep(Driven& driven, StepCall call);
  asio::awaitable<Result<StepResult>> RunInner(Driven& driven, StepCall call);
  asio::awaitable<Result<WorkflowView>> StartDriven(Driven& driven, Value input);
  asio::awaitable<Result<WorkflowView>> ResumeDriven(Driven& driven, ResumeInstance resume);
  std::shared_ptr<const CallerContext> CallerOf(const Driven& driven) const;
  SystemTime Now() const;

  SystemClock system_clock_;
  const WorkflowServiceOptions options_;
  Guarded<std::map<IsolationKey, std::uint32_t>> under_way_{};  // No value is 0.
};

}  // namespace caisson
