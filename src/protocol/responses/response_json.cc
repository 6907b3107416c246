#include "protocol/responses/response_json.h"

#include <array>
#include <chrono>

#include "base/json_object.h"
#include "protocol/responses/wire_id.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::responses {
namespace {

// The fields that a response always has, with the value for a request without them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kEchoed = {{
    {"instructions", "null"},
    {"max_output_tokens", "null"},
    {"max_tool_calls", "null"},
    {"metadata", "{}"},
    {"parallel_tool_calls", "true"},
    {"prompt_cache_key", "null"},
    {"reasoning", "null"},
    {"safety_identifier", "null"},
    {"store", "true"},
    {"temperature", "1.0"},
    {"text", R"({"format":{"type":"text"}})"},
    {"tool_choice", "\"auto\""},
    {"tools", "[]"},
    {"top_p", "1.0"},
    {"truncation", "\"disabled\""},
    {"user", "null"},
    {"agent_reference", ""},  // Empty: absent.
}};

std::int64_t Seconds(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void PutEcho(JsonObject& json, const std::string& echo) {
  const auto value = ParseJson(echo.empty() ? "{}" : echo);
  const Dict* fields = value ? value->If<Dict>() : nullptr;
  for (const auto& [name, otherwise] : kEchoed) {
    const Value* field = fields == nullptr ? nullptr : fields->Find(name);
    const auto text =
        field == nullptr ? Result<std::string>(std::string(otherwise)) : ToJson(*field);
    if (text && !text->empty()) json.Put(name, *text);
  }
  json.Text("service_tier", "default")
      .Number("presence_penalty", 0)
      .Number("frequency_penalty", 0)
      .Number("top_logprobs", 0);
}

JsonObject Begin(const ResponseFacts& facts, std::string_view status) {
  JsonObject json;
  json.Text("id", facts.id)
      .Text("object", "response")
      .Number("created_at", Seconds(facts.created_at))
      .Text("status", status)
      .Text("model", facts.agent)
      .Put("previous_response_id", facts.previous ? JsonQuoted(facts.previous->str()) : "null")
      .Flag("background", facts.style == TurnSpec::Style::kBackground);
  if (facts.conversation) {
    json.Put("conversation", JsonObject().Text("id", facts.conversation->str()).Finish());
  }
  PutEcho(json, facts.echo);
  return json;
}

std::string UsageJson(const model::TokenUsage& usage) {
  return JsonObject()
      .Number("input_tokens", usage.input)
      .Put("input_tokens_details",
           JsonObject().Number("cached_tokens", usage.cached_input).Finish())
      .Number("output_tokens", usage.output)
      .Put("output_tokens_details",
           JsonObject().Number("reasoning_tokens", usage.reasoning).Finish())
      .Number("total_tokens", usage.input + usage.output)
      .Finish();
}

std::string_view ReasonOf(TurnEnding ending) {
  switch (ending) {
    case TurnEnding::kContentFilter:
      return "content_filter";
    case TurnEnding::kIterations:
      return "max_iterations";
    case TurnEnding::kErrors:
      return "max_errors";
    case TurnEnding::kCalls:
      return "max_tool_calls";
    case TurnEnding::kWallTime:
      return "max_time";
    default:
      return "max_output_tokens";
  }
}

// A cancelled response has no output, also if items of its turn are kept for the conversation.
std::string OutputJson(const TurnView& turn, const ImageUrls& images) {
  std::string array = "[";
  if (turn.state != TurnState::kCancelled) {
    for (const TurnItem& item : turn.output) {
      if (!IsShown(item)) continue;
      TurnItem named = item;
      named.id = ItemWireId(item.id, turn.id.str());
      AppendElement(array, ItemJson(named, ItemStatus::kCompleted, images));
    }
  }
  return array + "]";
}

std::string ErrorOf(const TurnView& turn) {
  if (turn.state != TurnState::kFailed) return "null";
  return JsonObject()
      .Text("code", "server_error")
      .Text("message", turn.error.empty() ? "The turn failed." : turn.error)
      .Finish();
}

}  // namespace

bool HasEnded(const TurnView& turn) {
  return turn.state != TurnState::kQueued && turn.state != TurnState::kRunning;
}

std::string_view StatusOf(const TurnView& turn) {
  switch (turn.state) {
    case TurnState::kQueued:
      return "queued";
    case TurnState::kRunning:
      return "in_progress";
    case TurnState::kWaiting:
    case TurnState::kCompleted:
      return "completed";
    case TurnState::kIncomplete:
      return "incomplete";
    case TurnState::kCancelled:
      return "cancelled";
    case TurnState::kFailed:
      break;
  }
  return "failed";
}

std::string BegunResponseJson(const ResponseFacts& facts, std::string_view status) {
  return Begin(facts, status)
      .Put("completed_at", "null")
      .Put("incomplete_details", "null")
      .Put("error", "null")
      .Put("output", "[]")
      .Put("usage", "null")
      .Finish();
}

std::string ResponseJson(const TurnView& turn, const ImageUrls& images) {
  const std::string_view status = StatusOf(turn);
  JsonObject json = Begin({.id = turn.id.str(),
                           .agent = turn.agent,
                           .echo = turn.door_data,
                           .previous = turn.previous,
                           .conversation = turn.conversation,
                           .style = turn.style,
                           .created_at = turn.created_at},
                          status);
  json.Put("completed_at", status == "completed" ? std::to_string(Seconds(turn.ended_at)) : "null");
  const std::string reason = JsonObject().Text("reason", ReasonOf(turn.ending)).Finish();
  json.Put("incomplete_details", turn.state == TurnState::kIncomplete ? reason : "null");
  return json.Put("error", ErrorOf(turn))
      .Put("output", OutputJson(turn, images))
      .Put("usage", HasEnded(turn) ? UsageJson(turn.usage) : "null")
      .Finish();
}

}  // namespace caisson::responses
