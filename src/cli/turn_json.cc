#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "cli/turn_display.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::cli {
namespace {

std::string_view NameOf(ItemDelta::Kind kind) {
  switch (kind) {
    case ItemDelta::Kind::kText:
      break;
    case ItemDelta::Kind::kRefusal:
      return "refusal";
    case ItemDelta::Kind::kReasoning:
      return "reasoning";
    case ItemDelta::Kind::kCode:
      return "code";
    case ItemDelta::Kind::kArguments:
      return "arguments";
    case ItemDelta::Kind::kOutput:
      return "output";
  }
  return "text";
}

std::string_view NameOf(CallProgress progress) {
  switch (progress) {
    case CallProgress::kRunning:
      return "running";
    case CallProgress::kWaiting:
      return "waiting";
    case CallProgress::kFailed:
      return "failed";
    case CallProgress::kCompleted:
      break;
  }
  return "completed";
}

std::string_view NameOf(TurnState state) {
  switch (state) {
    case TurnState::kQueued:
      return "queued";
    case TurnState::kRunning:
      return "running";
    case TurnState::kWaiting:
      return "waiting";
    case TurnState::kIncomplete:
      return "incomplete";
    case TurnState::kFailed:
      return "failed";
    case TurnState::kCancelled:
      return "cancelled";
    case TurnState::kCompleted:
      break;
  }
  return "completed";
}

Value NameOf(TurnEnding ending) {
  switch (ending) {
    case TurnEnding::kNone:
      break;
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
    case TurnEnding::kModel:
      return "model";
    case TurnEnding::kStore:
      return "store";
  }
  return {};
}

Value Text(std::string_view text) {
  return Value(ToUtf8(text));
}

Dict MessageJson(const model::MessageItem& message) {
  std::string text;
  std::string refusal;
  for (const model::Part& part : message.parts) {
    if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
    if (const auto* piece = std::get_if<model::RefusalPart>(&part)) refusal += piece->text;
  }
  Dict json = Object({{"type", "message"}, {"text", Text(text)}});
  if (!refusal.empty()) Append(json, "refusal", Text(refusal));
  return json;
}

Dict CodeJson(const CodeCall& call) {
  List files;
  for (const TurnFile& file : call.files) {
    files.items.emplace_back(Object({{"path", Text(file.path)},
                                     {"media_type", Text(file.media_type)},
                                     {"size", static_cast<std::int64_t>(file.bytes)}}));
  }
  return Object({{"type", "code"},
                 {"run", call.run.str()},
                 {"status", std::string(NameOf(call.progress))},
                 {"code", Text(call.code)},
                 {"logs", Text(call.logs)},
                 {"files", std::move(files)},
                 {"is_error", call.is_error}});
}

Dict CallJson(const HostToolCall& call) {
  return Object({{"type", "tool"},
                 {"run", call.run.str()},
                 {"status", std::string(NameOf(call.progress))},
                 {"tool", Text(call.tool)},
                 {"arguments", Text(call.arguments)},
                 {"output", Text(call.output)},
                 {"is_error", call.is_error}});
}

// Returns an empty object for items of other kinds.
Dict ItemJson(const TurnItem& item) {
  if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
    return MessageJson(*message);
  }
  if (const auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    return Object({{"type", "reasoning"}, {"text", Text(reasoning->text)}});
  }
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return CodeJson(*code);
  if (const auto* call = std::get_if<HostToolCall>(&item.content)) return CallJson(*call);
  if (const auto* asked = std::get_if<ApprovalRequest>(&item.content)) {
    return Object({{"type", "approval"},
                   {"approval", asked->approval.str()},
                   {"call", asked->call_item},
                   {"tool", Text(asked->tool)},
                   {"arguments", Text(asked->arguments)}});
  }
  return {};
}

std::string ToLine(const Dict& object) {
  const auto text = ToJson(Value(object));
  return text ? *text + "\n" : "";
}

}  // namespace

std::string ToJsonLine(const TurnEvent& event) {
  if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
    return ToLine(Object({{"event", std::string(NameOf(delta->kind))},
                          {"item", delta->item},
                          {"text", Text(delta->text)}}));
  }
  const auto* done = std::get_if<ItemDone>(&event.event);
  if (done == nullptr) return "";
  Dict item = ItemJson(done->item);
  if (item.items.empty()) return "";
  item.items.emplace(item.items.begin(), "id", done->item.id);
  return ToLine(Object({{"event", "done"}, {"item", std::move(item)}}));
}

std::string ToJsonLine(const TurnView& turn) {
  return ToLine(Object({{"event", "turn"},
                        {"id", turn.id.str()},
                        {"state", std::string(NameOf(turn.state))},
                        {"ending", NameOf(turn.ending)},
                        {"error", turn.error.empty() ? Value() : Text(turn.error)}}));
}

}  // namespace caisson::cli
