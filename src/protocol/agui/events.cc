#include "protocol/agui/events.h"

#include <chrono>
#include <utility>

#include "base/rfc3339.h"
#include "base/utf8.h"
#include "protocol/agui/resume.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

std::int64_t Count(std::uint64_t tokens) {
  return static_cast<std::int64_t>(tokens);
}

List UsageOf(const Finish& finish) {
  const model::TokenUsage& usage = finish.usage;
  Dict entry = Object({{"inputTokens", Count(usage.input)},
                       {"outputTokens", Count(usage.output)},
                       {"totalTokens", Count(usage.input + usage.output)},
                       {"reasoningTokens", Count(usage.reasoning)},
                       {"cachedInputTokens", Count(usage.cached_input)}});
  if (!finish.model.empty()) Append(entry, "model", finish.model);
  return {{Value(std::move(entry))}};
}

Dict InterruptEvent(const OpenInterrupt& interrupt) {
  Dict event = Object(
      {{"id", interrupt.id},
       {"reason", "tool_call"},
       {"message", "Approve the call of " + interrupt.tool + "?"},
       {"toolCallId", interrupt.tool_call},
       {"responseSchema", ResponseSchema(interrupt.arguments)},
       {"metadata", Object({{"tool", interrupt.tool}, {"arguments", interrupt.arguments}})}});
  if (interrupt.expires_at) Append(event, "expiresAt", ToRfc3339(*interrupt.expires_at));
  return event;
}

Dict OutcomeOf(const Finish& finish, const std::vector<OpenInterrupt>& interrupts) {
  switch (finish.outcome) {
    case Finish::Outcome::kCancelled:
      return Object({{"type", "cancelled"}});
    case Finish::Outcome::kInterrupt: {
      List list;
      for (const OpenInterrupt& each : interrupts) list.items.emplace_back(InterruptEvent(each));
      return Object({{"type", "interrupt"}, {"interrupts", std::move(list)}});
    }
    case Finish::Outcome::kSuccess:
      break;
  }
  Dict outcome = Object({{"type", "success"}});
  if (!finish.pending_calls.empty()) {
    List ids;
    for (const std::string& id : finish.pending_calls) ids.items.emplace_back(id);
    Append(outcome, "pendingToolCallIds", std::move(ids));
  }
  return outcome;
}

}  // namespace

std::string ToText(Dict event, SystemTime now) {
  Append(
      event, "timestamp",
      std::int64_t{
          std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count()});
  auto text = ToJson(Value(std::move(event)));
  if (text) return *std::move(text);
  // Nothing that this program writes comes here; a client must not wait for an event all the same.
  return R"({"type":"CUSTOM","name":"caisson.unreadable","value":{}})";
}

Dict RunStarted(const std::string& thread_id, const std::string& run_id) {
  return Object({{"type", "RUN_STARTED"},
                 {"threadId", thread_id},
                 {"runId", run_id},
                 {"protocolVersion", "1.0"}});
}

Dict RunError(std::string_view message, std::string_view code) {
  return Object({{"type", "RUN_ERROR"}, {"message", ToUtf8(message)}, {"code", std::string(code)}});
}

Dict RunFinished(const std::string& thread_id, const std::string& run_id, const Finish& finish,
                 const std::vector<OpenInterrupt>& interrupts) {
  Dict event = Object({{"type", "RUN_FINISHED"},
                       {"threadId", thread_id},
                       {"runId", run_id},
                       {"outcome", OutcomeOf(finish, interrupts)}});
  if (!finish.incomplete.empty()) {
    Append(event, "result", Object({{"incomplete", finish.incomplete}}));
  }
  if (finish.usage.input + finish.usage.output > 0) Append(event, "usage", UsageOf(finish));
  return event;
}

Dict StateSnapshot(const Value& state) {
  return Object({{"type", "STATE_SNAPSHOT"}, {"snapshot", state}});
}

Dict StateDelta(const List& patch) {
  return Object({{"type", "STATE_DELTA"}, {"delta", patch}});
}

Dict MessagesSnapshot(const std::vector<Value>& messages) {
  return Object({{"type", "MESSAGES_SNAPSHOT"}, {"messages", List{messages}}});
}

std::vector<Dict> Hydration(const std::string& thread_id, const std::string& run_id,
                            const Thread& thread, Finish finish) {
  std::vector<Dict> events = {RunStarted(thread_id, run_id)};
  if (!IsEmptyState(thread.state)) events.push_back(StateSnapshot(thread.state));
  if (!thread.messages.empty()) events.push_back(MessagesSnapshot(thread.messages));
  if (finish.outcome == Finish::Outcome::kSuccess) {
    if (!thread.interrupts.empty()) finish.outcome = Finish::Outcome::kInterrupt;
    for (const OpenClientCall& call : thread.client_calls) {
      finish.pending_calls.push_back(call.tool_call);
    }
  }
  events.push_back(RunFinished(thread_id, run_id, finish, thread.interrupts));
  return events;
}

}  // namespace caisson::agui
