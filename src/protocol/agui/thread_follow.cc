#include <algorithm>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/spawn.h"
#include "protocol/agui/state_tool.h"
#include "protocol/agui/thread_runs.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

// How often in one run the model can change the state and go on.
constexpr int kMaxRounds = 32;

std::string_view IncompleteReason(TurnEnding ending) {
  switch (ending) {
    case TurnEnding::kIterations:
      return "iterations";
    case TurnEnding::kErrors:
      return "errors";
    case TurnEnding::kCalls:
      return "calls";
    case TurnEnding::kTokens:
      return "tokens";
    case TurnEnding::kOutputTokens:
      return "output_tokens";
    case TurnEnding::kContentFilter:
      return "content_filter";
    case TurnEnding::kWallTime:
      return "wall_time";
    case TurnEnding::kNone:
    case TurnEnding::kModel:
    case TurnEnding::kStore:
      break;
  }
  return "limit";
}

std::string_view FailureCode(TurnEnding ending) {
  if (ending == TurnEnding::kModel) return "MODEL_FAILED";
  if (ending == TurnEnding::kStore) return "STORE_FAILED";
  return "RUN_FAILED";
}

void Add(model::TokenUsage& sum, const model::TokenUsage& usage) {
  sum.input += usage.input;
  sum.cached_input += usage.cached_input;
  sum.output += usage.output;
  sum.reasoning += usage.reasoning;
}

}  // namespace

void ThreadRuns::Launch(Course course) {
  const Stop stop(asio::make_strand(executor_));
  {
    auto state = state_.Lock();
    state->stops.emplace(course.key, stop);
    if (state->closing) stop.Request();
  }
  Spawn(stop, Follow(std::move(course)));
}

asio::awaitable<Result<TurnView>> ThreadRuns::FollowTurn(Course& course, const ResponseId& turn) {
  Translation translation(course.stored.thread.waiting, [&](Dict event, Weight weight) {
    Push(course, std::move(event), weight);
  });
  auto told = co_await turns_.Events(course.request.owner, turn, 0,
                                     [&](const TurnEvent& event) { translation.Take(event); });
  translation.CloseAll();
  if (!told) co_return std::move(told).error();
  co_return co_await turns_.Find(course.request.owner, turn);
}

bool ThreadRuns::ApplyState(Course& course, const TurnView& turn) {
  Thread& thread = course.stored.thread;
  const bool declared = std::ranges::any_of(
      course.request.input.tools, [](const auto& tool) { return tool.name == kStateTool; });
  if (declared || turn.state != TurnState::kWaiting) return false;
  for (const OpenClientCall& call : thread.client_calls) {
    if (call.tool != kStateTool) continue;
    const auto patch = PatchState(thread.state, call.arguments);
    const std::string result = patch ? "done" : patch.error().message();
    if (patch) Push(course, StateDelta(*patch));
    const std::string id = ResultMessageId(call.tool_call, call.tool_call);
    Push(course, Object({{"type", "TOOL_CALL_RESULT"},
                         {"messageId", id},
                         {"toolCallId", call.tool_call},
                         {"content", result},
                         {"role", "tool"}}));
    thread.messages.emplace_back(Object(
        {{"id", id}, {"role", "tool"}, {"toolCallId", call.tool_call}, {"content", result}}));
    thread.state_results.emplace(call.call_id, result);
  }
  std::erase_if(thread.client_calls, [](const auto& call) { return call.tool == kStateTool; });
  return !thread.state_results.empty() && thread.client_calls.empty() && thread.interrupts.empty();
}

// Tells the model the results of the state tool.
asio::awaitable<bool> ThreadRuns::GoOn(Course& course) {
  Thread& thread = course.stored.thread;
  const RunInput& input = course.request.input;
  TurnSpec spec{
      .agent = course.request.agent,
      .id = NewTurnId(),
      .input = StateResults(thread),
      .previous = thread.turn,
      .instructions = RequestInstructions(input, NewsIn(input, thread).instructions, thread.state),
      .client_tools = input.tools,
      .style = TurnSpec::Style::kBackground,
      .caller = course.request.caller};
  spec.client_tools.push_back(StateToolDeclaration());
  thread.under_way = RunUnderWay{.run_id = course.run_id,
                                 .turn = *spec.id,
                                 .messages = thread.messages.size(),
                                 .since = clock_.Now()};
  const auto saved = co_await Save(course.key, course.stored);
  if (saved && co_await turns_.StartDetached(course.request.owner, std::move(spec))) {
    course.run->SetTurn(thread.under_way->turn);
    co_return true;
  }
  thread.under_way.reset();
  co_return false;
}

asio::awaitable<void> ThreadRuns::Follow(Course course) {
  co_await asio::this_coro::throw_if_cancelled(false);  // Close() ends it.
  Thread& thread = course.stored.thread;
  model::TokenUsage usage;
  Result<TurnView> turn = Error(ErrorCode::kInternal, "no turn");
  for (int round = 0;; ++round) {
    const ResponseId id = thread.under_way->turn;
    turn = co_await FollowTurn(course, id);
    if (!turn) break;
    AddOutput(thread, *turn);
    Add(usage, turn->usage);
    if (!ApplyState(course, *turn) || round == kMaxRounds) break;
    if (!co_await GoOn(course)) break;
  }
  if (turn) {
    thread.last_run = course.run_id;
    thread.under_way.reset();
    // If this fails, the next request reads the turn.
    static_cast<void>(co_await Save(course.key, course.stored));
  }
  Conclude(course, turn, usage);
  Leave(course.key, course.run);
}

void ThreadRuns::Conclude(Course& course, const Result<TurnView>& turn, model::TokenUsage usage) {
  const Thread& thread = course.stored.thread;
  const std::string& thread_id = course.request.input.thread_id;
  if (!turn) {
    return Push(course, RunError("the run cannot be followed here; connect again", "RUN_LOST"));
  }
  if (!IsEmptyState(thread.state)) Push(course, StateSnapshot(thread.state));
  Push(course, MessagesSnapshot(thread.messages));
  if (turn->state == TurnState::kFailed) {
    const std::string message = turn->error.empty() ? "the run failed" : turn->error;
    return Push(course, RunError(message, FailureCode(turn->ending)));
  }
  Finish finish{.model = turn->model, .usage = usage};
  if (turn->state == TurnState::kCancelled) finish.outcome = Finish::Outcome::kCancelled;
  if (!thread.interrupts.empty()) finish.outcome = Finish::Outcome::kInterrupt;
  if (turn->state == TurnState::kIncomplete) finish.incomplete = IncompleteReason(turn->ending);
  for (const OpenClientCall& call : thread.client_calls) {
    finish.pending_calls.push_back(call.tool_call);
  }
  Push(course, RunFinished(thread_id, course.run_id, finish, thread.interrupts));
}

}  // namespace caisson::agui
