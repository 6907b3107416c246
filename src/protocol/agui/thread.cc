#include "protocol/agui/thread.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json_quote.h"
#include "base/utf8.h"
#include "engine/outcome.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

std::string TextOf(const Dict& object, std::string_view name) {
  const auto* text = FindAs<std::string>(object, name);
  return text == nullptr ? std::string() : *text;
}
Value ToolCallMessage(const std::string& tool_call, const std::string& name,
                      const std::string& arguments) {
  const Dict call =
      Object({{"id", tool_call},
              {"type", "function"},
              {"function", Object({{"name", name}, {"arguments", ToUtf8(arguments)}})}});
  return Object({{"id", tool_call}, {"role", "assistant"}, {"toolCalls", List{{Value(call)}}}});
}

Value ResultMessage(const std::string& id, const std::string& tool_call, const std::string& text,
                    bool is_error) {
  Dict message =
      Object({{"id", id}, {"role", "tool"}, {"toolCallId", tool_call}, {"content", ToUtf8(text)}});
  if (is_error) Append(message, "error", ToUtf8(text));
  return message;
}

std::string PlainText(const model::MessageItem& message) {
  std::string text;
  for (const model::Part& part : message.parts) {
    if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
    if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) text += refusal->text;
  }
  return ToUtf8(text);
}

bool IsOver(CallProgress progress) {
  return progress == CallProgress::kCompleted || progress == CallProgress::kFailed;
}

std::string IdOf(const Value& message) {
  const auto* object = message.If<Dict>();
  return object == nullptr ? std::string() : TextOf(*object, "id");
}

const RunId* RunOf(const TurnItem& item) {
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return &code->run;
  if (const auto* tool = std::get_if<HostToolCall>(&item.content)) return &tool->run;
  return nullptr;
}

CallProgress ProgressOf(const TurnItem& item) {
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return code->progress;
  return std::get<HostToolCall>(item.content).progress;
}

void NoteInterrupt(Thread& thread, const ApprovalRequest& request,
                   const std::map<std::string, std::string>& call_of_item) {
  const auto known = call_of_item.find(request.call_item);
  OpenInterrupt interrupt{
      .id = request.approval.str(),
      .tool_call = known == call_of_item.end() ? request.call_item : known->second,
      .tool = request.tool};
  if (request.expires_at != SystemTime{}) interrupt.expires_at = request.expires_at;
  if (const auto arguments = ParseJson(request.arguments)) {
    if (const auto* dict = arguments->If<Dict>()) interrupt.arguments = *dict;
  }
  std::erase_if(thread.interrupts, [&](const auto& each) { return each.id == interrupt.id; });
  thread.interrupts.push_back(std::move(interrupt));
}

void NoteCall(Thread& thread, const TurnItem& item, const std::string& tool_call) {
  const std::string& run = RunOf(item)->str();
  std::erase_if(thread.waiting, [&](const WaitingCall& call) { return call.run == run; });
  if (ProgressOf(item) == CallProgress::kWaiting) {
    thread.waiting.push_back({.run = run, .tool_call = tool_call});
  }
}

}  // namespace

std::string ToolCallOf(const TurnItem& item, const std::vector<WaitingCall>& waiting) {
  const RunId* run = RunOf(item);
  if (run == nullptr || run->str().empty()) return item.id;
  const auto found = std::ranges::find(waiting, run->str(), &WaitingCall::run);
  return found == waiting.end() ? item.id : found->tool_call;
}

std::string ResultMessageId(const std::string& tool_call, const std::string& item) {
  return (tool_call == item ? tool_call : item) + "_result";
}

std::vector<Value> MessagesOf(const TurnItem& item, const std::string& tool_call, bool is_shown) {
  std::vector<Value> messages;
  const auto add_call = [&](const std::string& name, const std::string& arguments) {
    if (!is_shown) messages.push_back(ToolCallMessage(tool_call, name, arguments));
  };
  const auto add_result = [&](CallProgress progress, const std::string& text, bool is_error) {
    if (!IsOver(progress)) return;
    messages.push_back(
        ResultMessage(ResultMessageId(tool_call, item.id), tool_call, text, is_error));
  };
  if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
    if (message->role == model::Role::kAssistant) {
      messages.emplace_back(
          Object({{"id", item.id}, {"role", "assistant"}, {"content", PlainText(*message)}}));
    }
  } else if (const auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    messages.emplace_back(
        Object({{"id", item.id}, {"role", "reasoning"}, {"content", ToUtf8(reasoning->text)}}));
  } else if (const auto* code = std::get_if<CodeCall>(&item.content)) {
    add_call("execute_code", "{\"code\":" + JsonQuoted(ToUtf8(code->code)) + "}");
    add_result(code->progress, code->logs, code->is_error);
  } else if (const auto* tool = std::get_if<HostToolCall>(&item.content)) {
    add_call(tool->tool, tool->arguments);
    add_result(tool->progress, tool->output, tool->is_error);
  } else if (const auto* client = std::get_if<ClientCall>(&item.content)) {
    add_call(client->tool, client->arguments);
  }
  return messages;
}

void AddOutput(Thread& thread, const TurnView& turn) {
  std::set<std::string> known;
  for (const Value& message : thread.messages) known.insert(IdOf(message));
  thread.interrupts.clear();
  thread.client_calls.clear();
  thread.state_results.clear();
  std::map<std::string, std::string> call_of_item;
  for (const TurnItem& item : turn.output) {
    const std::string tool_call = ToolCallOf(item, thread.waiting);
    call_of_item[item.id] = tool_call;
    for (Value& message : MessagesOf(item, tool_call, tool_call != item.id)) {
      if (known.insert(IdOf(message)).second) thread.messages.push_back(std::move(message));
    }
    if (RunOf(item) != nullptr) NoteCall(thread, item, tool_call);
    if (const auto* call = std::get_if<ClientCall>(&item.content)) {
      thread.client_calls.push_back({.tool_call = tool_call,
                                     .call_id = call->call_id,
                                     .tool = call->tool,
                                     .arguments = call->arguments});
    }
  }
  const bool waits = turn.state == TurnState::kWaiting;
  if (!waits) {
    thread.client_calls.clear();
    thread.waiting.clear();
  }
  for (const TurnItem& item : turn.output) {
    const auto* request = std::get_if<ApprovalRequest>(&item.content);
    if (request != nullptr && waits) NoteInterrupt(thread, *request, call_of_item);
  }
  thread.turn = turn.id;
  thread.under_way.reset();
}

// The suffix after the last message that is stored, or, if none is, from the last one of the user.
News NewsIn(const RunInput& input, const Thread& thread) {
  News news;
  std::set<std::string> known;
  for (const Value& message : thread.messages) known.insert(IdOf(message));
  std::size_t begin = 0;
  bool overlaps = false;
  std::size_t last_user = input.messages.size();
  for (std::size_t i = 0; i < input.messages.size(); ++i) {
    const InputMessage& message = input.messages[i];
    if (known.contains(message.id)) {
      begin = i + 1;
      overlaps = true;
    }
    if (message.role == MessageRole::kUser) last_user = i;
  }
  if (!overlaps && !thread.messages.empty()) begin = last_user;
  std::set<std::string> answered;
  for (std::size_t i = 0; i < input.messages.size(); ++i) {
    const InputMessage& message = input.messages[i];
    if (message.role == MessageRole::kInstructions) {
      for (const model::Part& part : message.parts) {
        const auto* text = std::get_if<model::TextPart>(&part);
        if (text != nullptr) news.instructions.append(text->text).append("\n");
      }
    } else if (message.role == MessageRole::kUser && i >= begin &&
               known.insert(message.id).second) {
      news.messages.emplace_back(
          Object({{"id", message.id}, {"role", "user"}, {"content", message.content}}));
      news.input.push_back(
          {.id = "",
           .content = model::MessageItem{.role = model::Role::kUser, .parts = message.parts}});
      news.has_user_message = true;
    } else if (message.role == MessageRole::kTool && !known.contains(message.id)) {
      const auto call =
          std::ranges::find(thread.client_calls, message.tool_call_id, &OpenClientCall::tool_call);
      // Only calls of the client have results from the client, and each has one.
      if (call == thread.client_calls.end() || !answered.insert(call->tool_call).second) continue;
      known.insert(message.id);
      news.messages.emplace_back(Object({{"id", message.id},
                                         {"role", "tool"},
                                         {"toolCallId", call->tool_call},
                                         {"content", message.content}}));
      news.input.push_back(
          {.id = "", .content = ClientResult{.call_id = call->call_id, .parts = message.parts}});
      ++news.results;
    }
  }
  return news;
}

std::vector<TurnItem> StateResults(const Thread& thread) {
  std::vector<TurnItem> items;
  for (const auto& [call, text] : thread.state_results) {
    items.push_back(
        {.id = "", .content = ClientResult{.call_id = call, .parts = {model::TextPart{text}}}});
  }
  return items;
}

ResponseId NewTurnId() {
  return ResponseId("turn_" + NewRunId().substr(4));
}

void MergeState(Value& state, const Value& from) {
  const auto* fields = from.If<Dict>();
  auto* stored = std::get_if<Dict>(&state.variant());
  if (fields == nullptr || stored == nullptr) {
    if (!IsEmptyState(from)) state = from;
    return;
  }
  for (const auto& [key, value] : fields->items) {
    const auto same =
        std::ranges::find_if(stored->items, [&](const auto& item) { return item.first == key; });
    if (same != stored->items.end()) {
      same->second = value;
    } else {
      stored->items.emplace_back(key, value);
    }
  }
}

bool IsEmptyState(const Value& state) {
  const auto* fields = state.If<Dict>();
  return state.is_none() || (fields != nullptr && fields->items.empty());
}

}  // namespace caisson::agui
