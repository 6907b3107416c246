#include "workflow/agent_steps.h"

#include <utility>

namespace caisson {
namespace {

constexpr std::uint32_t kMaxTurns = 100;  // Of one step.
constexpr std::size_t kIdDigits = 40;

std::string TextOf(const Value& message) {
  if (const auto* text = message.If<std::string>()) return *text;
  const auto json = ToJson(message);
  return json ? *json : "null";
}

TurnItem ToItem(const Value& message, const std::string& digest) {
  return {.id = "msg_" + digest.substr(0, kIdDigits),
          .content = model::MessageItem{.role = model::Role::kUser,
                                        .parts = {model::TextPart{.text = TextOf(message)}}}};
}

bool IsUnderWay(TurnState state) {
  return state == TurnState::kQueued || state == TurnState::kRunning;
}

// The text of the last message of the agent.
std::string AnswerOf(const TurnView& turn) {
  std::string answer;
  for (const TurnItem& item : turn.output) {
    const auto* message = std::get_if<model::MessageItem>(&item.content);
    if (message == nullptr || message->role != model::Role::kAssistant) continue;
    answer.clear();
    for (const model::Part& part : message->parts) {
      if (const auto* text = std::get_if<model::TextPart>(&part)) answer += text->text;
    }
  }
  return answer;
}

}  // namespace

asio::awaitable<Result<TurnView>> AgentSteps::Turn(const StepCall& call, const std::string& agent,
                                                   const std::string& digest, std::uint32_t number,
                                                   std::optional<ResponseId> previous) {
  const ResponseId id("resp_wf_" + digest.substr(0, kIdDigits) + "_" + std::to_string(number));
  auto found = co_await turns_.Find(call.owner, id);
  if (!found && found.error().code() == ErrorCode::kNotFound) {
    // Only a background turn continues from its last call if this process is killed. Another one
    // would ask the model again, and might repeat a call.
    TurnSpec spec{.agent = agent,
                  .id = id,
                  .previous = std::move(previous),
                  .style = TurnSpec::Style::kBackground,
                  .caller = call.caller};
    if (!spec.previous) spec.input.push_back(ToItem(call.message, digest));
    found = co_await turns_.StartDetached(call.owner, std::move(spec));
  }
  if (!found || !IsUnderWay(found->state)) co_return found;
  auto ended = co_await turns_.Events(call.owner, id, 0, [](const TurnEvent&) {});
  if (!ended) co_return std::move(ended).error();
  co_return co_await turns_.Find(call.owner, id);
}

asio::awaitable<bool> AgentSteps::IsDecided(const StepCall& call, const TurnView& turn) {
  for (const TurnItem& item : turn.output) {
    const auto* request = std::get_if<ApprovalRequest>(&item.content);
    if (request == nullptr) continue;
    const auto asked = co_await runs_.FindApproval(call.owner, request->approval);
    if (asked && asked->state != ApprovalState::kPending) co_return true;
  }
  co_return false;
}

asio::awaitable<Result<StepResult>> AgentSteps::Run(StepCall call) {
  const auto* step = std::get_if<AgentStep>(&call.executor.step);
  if (step == nullptr) co_return co_await others_.Run(std::move(call));
  const auto digest = StepDigest(call);
  if (!digest)
    co_return StepFailed{.fault = WorkflowFault::kType, .error = digest.error().message()};
  std::optional<ResponseId> previous;
  for (std::uint32_t number = 0; number < kMaxTurns; ++number) {
    auto turn = co_await Turn(call, step->agent, *digest, number, previous);
    if (!turn && (turn.error().code() == ErrorCode::kNotFound ||
                  turn.error().code() == ErrorCode::kInvalidArgument)) {
      co_return StepFailed{.fault = WorkflowFault::kStep, .error = turn.error().message()};
    }
    if (!turn) co_return std::move(turn).error();
    if (turn->state == TurnState::kCompleted) co_return StepDone{.output = Value(AnswerOf(*turn))};
    if (IsUnderWay(turn->state)) {
      co_return Error(ErrorCode::kUnavailable,
                      "the agent still answers; resume the workflow later");
    }
    if (turn->state != TurnState::kWaiting) {
      co_return StepFailed{.fault = WorkflowFault::kStep,
                           .error = turn->error.empty() ? "the agent did not answer" : turn->error};
    }
    if (!co_await IsDecided(call, *turn)) {
      StepWaits waits;
      for (const TurnItem& item : turn->output) {
        const auto* request = std::get_if<ApprovalRequest>(&item.content);
        if (request == nullptr) continue;
        waits.approvals.push_back(
            {.id = request->approval, .run = RunId(""), .executor = call.executor.id});
      }
      if (!waits.approvals.empty()) co_return waits;
      co_return StepFailed{
          .fault = WorkflowFault::kStep,
          .error = "the agent calls a tool of its client, and a workflow has none"};
    }
    previous = turn->id;
  }
  co_return StepFailed{.fault = WorkflowFault::kLimit, .error = "the agent asks too often"};
}

}  // namespace caisson
