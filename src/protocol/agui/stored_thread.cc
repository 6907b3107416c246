#include <algorithm>
#include <chrono>
#include <utility>

#include "base/json_quote.h"
#include "protocol/agui/thread.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

constexpr std::int64_t kVersion = 1;

std::int64_t ToMicros(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}
SystemTime FromMicros(std::int64_t micros) {
  return SystemTime(std::chrono::microseconds(micros));
}

std::string TextOf(const Dict& object, std::string_view name) {
  const auto* text = FindAs<std::string>(object, name);
  return text == nullptr ? std::string() : *text;
}
std::int64_t NumberOf(const Dict& object, std::string_view name) {
  const auto* number = FindAs<std::int64_t>(object, name);
  return number == nullptr ? 0 : *number;
}

// ---- Stored form ----

Value ToValue(const OpenInterrupt& interrupt) {
  Dict object = Object({{"id", interrupt.id},
                        {"tool_call", interrupt.tool_call},
                        {"tool", interrupt.tool},
                        {"arguments", interrupt.arguments}});
  if (interrupt.expires_at) Append(object, "expires_at", ToMicros(*interrupt.expires_at));
  return object;
}
void Read(const Dict& object, OpenInterrupt& interrupt) {
  interrupt = {.id = TextOf(object, "id"),
               .tool_call = TextOf(object, "tool_call"),
               .tool = TextOf(object, "tool")};
  if (const auto* arguments = FindAs<Dict>(object, "arguments")) interrupt.arguments = *arguments;
  if (const auto* at = FindAs<std::int64_t>(object, "expires_at")) {
    interrupt.expires_at = FromMicros(*at);
  }
}
Value ToValue(const WaitingCall& call) {
  return Object({{"run", call.run}, {"tool_call", call.tool_call}});
}
void Read(const Dict& object, WaitingCall& call) {
  call = {.run = TextOf(object, "run"), .tool_call = TextOf(object, "tool_call")};
}
Value ToValue(const OpenClientCall& call) {
  return Object({{"tool_call", call.tool_call},
                 {"call_id", call.call_id},
                 {"tool", call.tool},
                 {"arguments", call.arguments}});
}
void Read(const Dict& object, OpenClientCall& call) {
  call = {.tool_call = TextOf(object, "tool_call"),
          .call_id = TextOf(object, "call_id"),
          .tool = TextOf(object, "tool"),
          .arguments = TextOf(object, "arguments")};
}

template <typename T>
List ToList(const std::vector<T>& items) {
  List list;
  for (const T& item : items) list.items.push_back(ToValue(item));
  return list;
}
template <typename T>
std::vector<T> FromList(const Dict& object, std::string_view name) {
  std::vector<T> items;
  const auto* list = FindAs<List>(object, name);
  if (list == nullptr) return items;
  for (const Value& value : list->items) {
    if (const auto* fields = value.If<Dict>()) Read(*fields, items.emplace_back());
  }
  return items;
}

}  // namespace

DocumentId ThreadDocument(std::string_view agent, std::string_view thread_id) {
  return DocumentId("agui[" + JsonQuoted(agent) + "," + JsonQuoted(thread_id) + "]");
}

Result<std::string> Encode(const Thread& thread) {
  Dict object = Object({{"version", kVersion},
                        {"messages", List{thread.messages}},
                        {"state", thread.state},
                        {"last_run", thread.last_run},
                        {"interrupts", ToList(thread.interrupts)},
                        {"waiting", ToList(thread.waiting)},
                        {"client_calls", ToList(thread.client_calls)}});
  if (thread.turn) Append(object, "turn", thread.turn->str());
  if (const auto& run = thread.under_way) {
    Append(object, "under_way",
           Object({{"run", run->run_id},
                   {"turn", run->turn.str()},
                   {"messages", static_cast<std::int64_t>(run->messages)},
                   {"since", ToMicros(run->since)}}));
  }
  Dict results;
  for (const auto& [call, text] : thread.state_results) Append(results, call, text);
  Append(object, "state_results", std::move(results));
  TRY_ASSIGN(std::string text, ToJson(object));
  if (text.size() <= kMaxThreadBytes) return text;
  return Error(
      ErrorCode::kResourceExhausted,
      "the thread has more than " + std::to_string(kMaxThreadBytes) + " bytes; start a new one");
}

Result<Thread> DecodeThread(std::string_view body) {
  TRY_ASSIGN(const Value value, ParseJson(body));
  const auto* object = value.If<Dict>();
  if (object == nullptr || NumberOf(*object, "version") != kVersion) {
    return Error(ErrorCode::kInvalidArgument, "the stored thread is not of a known form");
  }
  Thread thread{.last_run = TextOf(*object, "last_run"),
                .interrupts = FromList<OpenInterrupt>(*object, "interrupts"),
                .waiting = FromList<WaitingCall>(*object, "waiting"),
                .client_calls = FromList<OpenClientCall>(*object, "client_calls")};
  if (const auto* messages = FindAs<List>(*object, "messages")) thread.messages = messages->items;
  if (const Value* state = object->Find("state")) thread.state = *state;
  if (const auto* turn = FindAs<std::string>(*object, "turn")) thread.turn = ResponseId(*turn);
  if (const auto* run = FindAs<Dict>(*object, "under_way")) {
    thread.under_way = RunUnderWay{
        .run_id = TextOf(*run, "run"),
        .turn = ResponseId(TextOf(*run, "turn")),
        .messages = static_cast<std::size_t>(std::max<std::int64_t>(NumberOf(*run, "messages"), 0)),
        .since = FromMicros(NumberOf(*run, "since"))};
  }
  if (const auto* results = FindAs<Dict>(*object, "state_results")) {
    for (const auto& [key, text] : results->items) {
      const auto* name = key.If<std::string>();
      const auto* result = text.If<std::string>();
      if (name != nullptr && result != nullptr) thread.state_results.emplace(*name, *result);
    }
  }
  return thread;
}

}  // namespace caisson::agui
