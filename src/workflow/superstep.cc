#include "workflow/superstep.h"

#include <algorithm>
#include <optional>

#include "base/sha256.h"
#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::size_t kRequestIdDigits = 32;

// Sends messages along the edges of one workflow. Does nothing once the instance has failed.
class Sender {
 public:
  Sender(const Workflow& workflow, InstanceState& state) : workflow_(workflow), state_(state) {}

  // `executor` has produced this message.
  void Send(const Executor& executor, const Value& message) {
    if (auto problem = executor.output.Check(message)) {
      return Fail(state_, WorkflowFault::kType,
                  "\"" + executor.id.str() + "\" sent a message of the wrong type: " + *problem);
    }
    if (!executor.save_as.empty()) Save(executor.save_as, message);
    if (workflow_.IsOutput(executor.id)) {
      if (Count(message)) state_.outputs.push_back({.executor = executor.id, .value = message});
      return;
    }
    const WorkflowParts& parts = workflow_.parts();
    std::uint32_t index = 0;  // Of the edge or case; the key of InstanceState::taken.
    for (const Edge& edge : parts.edges) SendAlong(edge, index++, executor.id, message);
    for (const Switch& one : parts.switches) {
      if (one.from == executor.id) Choose(one, index, message);
      index += static_cast<std::uint32_t>(one.cases.size());
    }
    for (std::uint32_t i = 0; i < parts.fan_ins.size(); ++i) {
      Gather(parts.fan_ins[i], i, executor.id, message);
    }
  }

  void Deliver(const ExecutorId& to, Value message) {
    if (state_.status == InstanceStatus::kFailed || !Count(message)) return;
    if (auto problem = workflow_.Find(to)->input.Check(message)) {
      return Fail(state_, WorkflowFault::kType,
                  "\"" + to.str() + "\" cannot take a message: " + *problem);
    }
    state_.deliveries.push_back({.to = to, .message = std::move(message)});
  }

 private:
  static bool Meets(const std::optional<Schema>& when, const Value& message) {
    return !when || when->Fits(message).value_or(false);
  }
  bool IsUsedUp(const std::optional<std::uint32_t>& limit, std::uint32_t index) const {
    if (!limit) return false;
    const auto taken = state_.taken.find(index);
    return taken != state_.taken.end() && taken->second >= *limit;
  }
  void Take(const std::optional<std::uint32_t>& limit, std::uint32_t index) {
    if (limit) ++state_.taken[index];
  }

  void SendAlong(const Edge& edge, std::uint32_t index, const ExecutorId& from,
                 const Value& message) {
    if (edge.from != from || !Meets(edge.when, message)) return;
    if (IsUsedUp(edge.limit, index)) {
      return Fail(state_, WorkflowFault::kLimit,
                  "the edge from \"" + from.str() + "\" to \"" + edge.to.str() +
                      "\" was taken as often as its limit allows: " + std::to_string(*edge.limit));
    }
    Take(edge.limit, index);
    Deliver(edge.to, message);
  }

  void Choose(const Switch& one, std::uint32_t index, const Value& message) {
    for (const Switch::Case& each : one.cases) {
      const std::uint32_t own = index++;
      if (!Meets(each.when, message) || IsUsedUp(each.limit, own)) continue;
      Take(each.limit, own);
      return Deliver(each.to, message);
    }
    if (one.otherwise) Deliver(*one.otherwise, message);
  }

  void Gather(const FanIn& one, std::uint32_t index, const ExecutorId& from, const Value& message) {
    const auto source = std::ranges::find(one.from, from);
    if (source == one.from.end() || !Count(message)) return;
    auto& held = state_.gathered[index];
    held.resize(one.from.size());
    held[static_cast<std::size_t>(source - one.from.begin())].push_back(message);
    if (std::ranges::any_of(held, [](const auto& queue) { return queue.empty(); })) return;
    Dict all;
    for (std::size_t i = 0; i < held.size(); ++i) {
      Append(all, one.from[i].str(), std::move(held[i].front()));
      held[i].pop_front();
    }
    if (std::ranges::all_of(held, [](const auto& queue) { return queue.empty(); })) {
      state_.gathered.erase(index);
    }
    Deliver(one.to, Value(std::move(all)));
  }

  void Save(const std::string& key, const Value& message) {
    for (auto& [name, value] : state_.shared.items) {
      if (name == Value(key)) {
        value = message;
        return;
      }
    }
    Append(state_.shared, key, message);
  }

  // Counts a message; returns false if the instance has failed.
  bool Count(const Value& message) {
    if (state_.status == InstanceStatus::kFailed) return false;
    const WorkflowLimits& limits = workflow_.limits();
    const auto text = ToJson(message);
    if (!text) {
      Fail(state_, WorkflowFault::kType, "a message is no JSON value: " + text.error().message());
    } else if (text->size() > limits.message_bytes) {
      Fail(state_, WorkflowFault::kLimit,
           "a message has " + std::to_string(text->size()) + " bytes, more than the " +
               std::to_string(limits.message_bytes) + " of limits.message_bytes");
    } else if (++state_.messages > limits.messages) {
      Fail(state_, WorkflowFault::kLimit,
           "the instance sent more messages than limits.messages allows: " +
               std::to_string(limits.messages));
    }
    return state_.status != InstanceStatus::kFailed;
  }

  const Workflow& workflow_;
  InstanceState& state_;
};

RequestId RequestIdOf(const InstancePlace& place, std::uint64_t superstep, std::uint32_t index) {
  const std::string text =
      place.instance.str() + "\n" + std::to_string(superstep) + "\n" + std::to_string(index);
  return RequestId("req_" + ToHex(Sha256("workflow request\n" + text)).substr(0, kRequestIdDigits));
}

// Decides the status from what is left to do.
void Settle(InstanceState& state) {
  if (state.status == InstanceStatus::kFailed) return;
  if (!state.deliveries.empty()) {
    state.status = InstanceStatus::kRunning;
  } else if (!state.requests.empty()) {
    state.status = InstanceStatus::kWaiting;
  } else if (!state.gathered.empty() && state.outputs.empty()) {
    Fail(state, WorkflowFault::kStep,
         "a fan-in waits for a message that no step can send any more: a condition or a switch "
         "led past one of its sources");
  } else {
    state.status = InstanceStatus::kCompleted;
  }
}

}  // namespace

void Fail(InstanceState& state, WorkflowFault fault, std::string error) {
  if (state.status == InstanceStatus::kFailed) return;  // The first reason counts.
  state.status = InstanceStatus::kFailed;
  state.fault = fault;
  state.error = std::move(error);
  state.deliveries.clear();
  state.requests.clear();
  state.inner_requests.clear();
  state.approvals.clear();
  state.gathered.clear();
  state.begun_at.reset();
}

InstanceState Begin(const Workflow& workflow, Value input) {
  InstanceState state;
  state.workflow = workflow.name();
  state.digest = workflow.digest();
  Sender(workflow, state).Deliver(workflow.start().id, std::move(input));
  Settle(state);
  return state;
}

bool CanGoOn(const InstanceState& state) {
  return state.status != InstanceStatus::kFailed && !state.deliveries.empty();
}

std::vector<PlannedStep> PlanOf(const Workflow& workflow, const InstanceState& state) {
  std::vector<PlannedStep> plan;
  for (std::uint32_t i = 0; i < state.deliveries.size(); ++i) {
    const Executor* executor = workflow.Find(state.deliveries[i].to);
    if (std::holds_alternative<RequestStep>(executor->step)) continue;
    plan.push_back({.index = i, .executor = executor, .message = &state.deliveries[i].message});
  }
  return plan;
}

void Advance(const Workflow& workflow, InstanceState& state, const InstancePlace& place,
             std::vector<Value> outputs) {
  const std::vector<Delivery> deliveries = std::move(state.deliveries);
  state.deliveries.clear();
  state.inner_requests.clear();
  state.approvals.clear();
  state.begun_at.reset();
  ++state.superstep;
  Sender sender(workflow, state);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < deliveries.size(); ++i) {
    const Executor& executor = *workflow.Find(deliveries[i].to);
    if (const auto* request = std::get_if<RequestStep>(&executor.step)) {
      state.requests.push_back({.id = RequestIdOf(place, state.superstep, i),
                                .executor = executor.id,
                                .prompt = request->prompt,
                                .message = deliveries[i].message,
                                .response = executor.output.document(),
                                .asked_at = place.now});
    } else {
      sender.Send(executor, outputs[next++]);
    }
  }
  Settle(state);
  if (CanGoOn(state) && state.superstep >= workflow.limits().supersteps) {
    Fail(state, WorkflowFault::kLimit,
         "the instance has not ended after " + std::to_string(workflow.limits().supersteps) +
             " supersteps, as many as limits.supersteps allows");
  }
}

Result<void> Answer(const Workflow& workflow, InstanceState& state, const RequestId& id,
                    Value answer) {
  const auto request = std::ranges::find(state.requests, id, &OpenRequest::id);
  if (request == state.requests.end()) {
    return Error(ErrorCode::kInvalidArgument, "there is no open request \"" + id.str() + "\"");
  }
  const Executor& executor = *workflow.Find(request->executor);
  if (auto problem = executor.output.Check(answer)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the answer to \"" + id.str() + "\" does not fit: " + *problem);
  }
  state.requests.erase(request);
  Sender(workflow, state).Send(executor, answer);
  Settle(state);
  return {};
}

Value OutputOf(const InstanceState& state) {
  if (state.outputs.empty()) return {};
  if (state.outputs.size() == 1) return state.outputs.front().value;
  List all;
  for (const WorkflowOutput& output : state.outputs) all.items.push_back(output.value);
  return Value(std::move(all));
}

}  // namespace caisson
