#include "workflow/run_steps.h"

#include <algorithm>
#include <utility>

#include "wire/object.h"
#include "workflow/arguments_template.h"

namespace caisson {
namespace {

// A run whose approval was decided may be in another process, or in the store.
constexpr std::chrono::seconds kDecidedRunGoesOn{60};
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::string_view kKeyPrefix = "workflow/";

std::string WhyItFailed(const Outcome& outcome) {
  std::string text = "the run " + outcome.run_id + " ended as " +
                     std::string(ToString(outcome.status)) + " (" +
                     std::string(ToString(outcome.reason)) + ")";
  if (outcome.error) text += ": " + outcome.error->type + ": " + outcome.error->message;
  if (!outcome.findings.empty()) text += ": " + outcome.findings.front().message;
  return text;
}

// Calls a tool whose name and arguments are data. The same text for every tool step.
constexpr std::string_view kCallTool = R"(import json
with open("/input/inputs.json") as file:
    call = json.load(file)
call_tool(call["tool"], call["arguments"])
)";

Result<Value> ToolInputs(const StepCall& call, const ToolStep& step) {
  Value arguments = call.message;
  if (!step.arguments.is_none()) {
    TRY_ASSIGN(arguments, FillTemplate(step.arguments, call.message, call.state));
  }
  if (arguments.If<Dict>() == nullptr) {
    return Error(ErrorCode::kInvalidArgument,
                 "the tool \"" + step.tool +
                     "\" needs an object as its arguments; give the step a template (arguments)");
  }
  return Value(Object({{"tool", step.tool}, {"arguments", std::move(arguments)}}));
}

Result<RunSpec> SpecOf(const StepCall& call) {
  RunSpec spec;
  Value inputs = Object({{"message", call.message}, {"state", call.state}});
  if (const auto* tool = std::get_if<ToolStep>(&call.executor.step)) {
    spec.code = kCallTool;
    TRY_ASSIGN(inputs, ToolInputs(call, *tool));
  } else if (const auto* code = std::get_if<CodeStep>(&call.executor.step)) {
    spec.code = code->code;
  } else {
    return Error(ErrorCode::kInvalidArgument, "this step is neither code nor a tool");
  }
  TRY_ASSIGN(std::string text, ToJson(inputs));
  spec.inputs = {{.path = std::string(kInputsFile),
                  .contents = std::make_shared<const std::string>(std::move(text))}};
  spec.journal = RunJournaling::kAlways;
  spec.caller = call.caller;
  return spec;
}

}  // namespace

StepResult ToStepResult(const RunView& view, const ExecutorId& executor) {
  const Outcome& outcome = view.outcome;
  if (view.state == RunState::kWaiting) {
    StepWaits waits;
    for (const OutcomeApproval& each : outcome.approvals) {
      waits.approvals.push_back({.id = ApprovalId(each.id), .run = view.id, .executor = executor});
    }
    return waits;
  }
  if (outcome.status == RunStatus::kCompleted) {
    if (!outcome.result_repr) return StepDone{.output = outcome.result.value_or(Value())};
    return StepFailed{
        .fault = WorkflowFault::kType,
        .error = "its last value is no JSON value: " + outcome.result_repr->substr(0, 200)};
  }
  const auto uncertain = std::ranges::find(outcome.calls, "uncertain", &OutcomeCall::outcome);
  if (uncertain != outcome.calls.end()) {
    return StepFailed{
        .fault = WorkflowFault::kUncertain,
        .error = "the call of \"" + uncertain->tool +
                 "\" may or may not have happened, and is not repeated: " + WhyItFailed(outcome)};
  }
  return StepFailed{.fault = WorkflowFault::kStep, .error = WhyItFailed(outcome)};
}

asio::awaitable<Result<RunView>> RunSteps::FindAgain(IsolationKey owner, RunKey key) {
  const auto found = co_await options_.runs.FindByKey(owner, key.id);
  if (!found) co_return found.error();
  // A wait that is cancelled leaves the run as it is.
  auto view = co_await options_.runs.Await(owner, found->run, {},
                                           std::chrono::steady_clock::time_point::max());
  const auto give_up = std::chrono::steady_clock::now() + kDecidedRunGoesOn;
  while (view && view->state == RunState::kWaiting && co_await IsDecided(owner, *view) &&
         std::chrono::steady_clock::now() < give_up) {
    view = co_await options_.runs.Await(owner, view->id, ApprovalIds(*view),
                                        std::chrono::steady_clock::now() + kLookAgain);
  }
  co_return view;
}

// Whether somebody has decided one of the approvals, so that the run goes on in a moment.
asio::awaitable<bool> RunSteps::IsDecided(IsolationKey owner, const RunView& view) {
  for (const OutcomeApproval& each : view.outcome.approvals) {
    const auto approval = co_await options_.runs.FindApproval(owner, ApprovalId(each.id));
    if (approval && approval->state != ApprovalState::kPending) co_return true;
  }
  co_return false;
}

asio::awaitable<Result<RunView>> RunSteps::Begin(const StepCall& call, RunSpec spec) {
  const RunKey key = *spec.key;
  const auto known = [](const Result<RunView>& view) {
    return view || view.error().code() != ErrorCode::kNotFound;
  };
  if (call.begun_before) {
    auto found = co_await FindAgain(call.owner, key);
    if (known(found)) co_return found;
  }
  auto view = co_await options_.runs.Start(call.owner, std::move(spec));
  if (view || view.error().code() != ErrorCode::kFailedPrecondition) co_return view;
  auto found = co_await FindAgain(call.owner, key);
  if (known(found)) co_return found;
  co_return view;
}

asio::awaitable<Result<StepResult>> RunSteps::Run(StepCall call) {
  auto spec = SpecOf(call);
  if (!spec) {
    co_return StepFailed{.fault = WorkflowFault::kType, .error = spec.error().message()};
  }
  auto digest = StepDigest(call);
  if (!digest) {
    co_return StepFailed{.fault = WorkflowFault::kType, .error = digest.error().message()};
  }
  const SystemTime now = (options_.clock != nullptr ? *options_.clock : system_clock_).Now();
  spec->key = RunKey{.id = IdempotencyKey(std::string(kKeyPrefix) + *digest),
                     .fingerprint = *digest,
                     .expires_at = now + options_.keep};
  if (call.begun_before && *call.begun_before + options_.keep <= now) {
    auto found = co_await FindAgain(call.owner, *spec->key);
    if (!found && found.error().code() == ErrorCode::kNotFound) {
      co_return StepFailed{.fault = WorkflowFault::kUncertain,
                           .error =
                               "it may have been done before, and its run is not kept any "
                               "more; it is not done again"};
    }
  }
  auto view = co_await Begin(call, *std::move(spec));
  if (view) co_return ToStepResult(*view, call.executor.id);
  const ErrorCode code = view.error().code();
  if (code == ErrorCode::kInvalidArgument) {
    co_return StepFailed{.fault = WorkflowFault::kStep, .error = view.error().message()};
  }
  co_return std::move(view).error();
}

}  // namespace caisson
