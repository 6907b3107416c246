#include "protocol/agui/translation.h"

#include <utility>

#include "base/json_quote.h"
#include "base/utf8.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

// The text inside the quotes of a JSON string.
std::string JsonInside(const std::string& text) {
  const std::string quoted = JsonQuoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string TextOf(const model::MessageItem& message) {
  std::string text;
  for (const model::Part& part : message.parts) {
    if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
    if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) text += refusal->text;
  }
  return text;
}

Dict FilesEvent(const std::string& tool_call, const CodeCall& call) {
  List files;
  for (const TurnFile& file : call.files) {
    files.items.emplace_back(
        Object({{"path", ToUtf8(file.path)},
                {"mediaType", file.media_type},
                {"bytes", static_cast<std::int64_t>(file.bytes)},
                {"url", "/v1/runs/" + call.run.str() + "/files/" + std::to_string(file.number)}}));
  }
  return Object({{"type", "CUSTOM"},
                 {"name", "caisson.files"},
                 {"value", Object({{"toolCallId", tool_call}, {"files", std::move(files)}})}});
}

}  // namespace

void Translation::Take(const TurnEvent& event) {
  if (const auto* added = std::get_if<ItemAdded>(&event.event)) {
    Begin(added->item);
  } else if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
    Continue(*delta);
  } else if (const auto* done = std::get_if<ItemDone>(&event.event)) {
    Finish(done->item);
  }
}

void Translation::Begin(const TurnItem& item) {
  using Kind = OpenItem::Kind;
  if (open_.contains(item.id)) return;
  if (std::holds_alternative<model::MessageItem>(item.content)) {
    open_[item.id] = {.kind = Kind::kMessage, .id = item.id};
    Send(Object({{"type", "TEXT_MESSAGE_START"}, {"messageId", item.id}, {"role", "assistant"}}));
  } else if (std::holds_alternative<model::ReasoningItem>(item.content)) {
    open_[item.id] = {.kind = Kind::kReasoning, .id = item.id};
    Send(Object({{"type", "REASONING_START"}, {"messageId", item.id}}));
    Send(Object(
        {{"type", "REASONING_MESSAGE_START"}, {"messageId", item.id}, {"role", "reasoning"}}));
  } else if (std::holds_alternative<CodeCall>(item.content)) {
    BeginCall(item, "execute_code", Kind::kCode);
  } else if (const auto* tool = std::get_if<HostToolCall>(&item.content)) {
    BeginCall(item, tool->tool, Kind::kCall);
  } else if (const auto* client = std::get_if<ClientCall>(&item.content)) {
    BeginCall(item, client->tool, Kind::kCall);
  }
}

void Translation::BeginCall(const TurnItem& item, const std::string& name, OpenItem::Kind kind) {
  OpenItem open{.kind = kind, .id = ToolCallOf(item, waiting_)};
  open.ended = open.id != item.id;  // It was shown in an earlier turn.
  open.step = name + ":" + item.id;
  Send(Object({{"type", "STEP_STARTED"}, {"stepName", open.step}}));
  if (!open.ended) {
    Send(Object({{"type", "TOOL_CALL_START"}, {"toolCallId", open.id}, {"toolCallName", name}}));
  }
  open_[item.id] = std::move(open);
}

void Translation::Continue(const ItemDelta& delta) {
  const auto found = open_.find(delta.item);
  if (found == open_.end() || delta.text.empty()) return;
  OpenItem& open = found->second;
  if (delta.kind != ItemDelta::Kind::kOutput) return Piece(open, delta.kind, delta.text);
  EndArguments(open);
  Send(Object({{"type", "CUSTOM"},
               {"name", "caisson.output"},
               {"value", Object({{"toolCallId", open.id}, {"text", ToUtf8(delta.text)}})}}),
       Weight::kPiece);
}

void Translation::Piece(OpenItem& open, ItemDelta::Kind kind, const std::string& raw) {
  using Kind = OpenItem::Kind;
  const std::string text = ToUtf8(raw);
  const bool is_first = !std::exchange(open.has_text, true);
  const auto send = [&](const char* type, const char* id, std::string delta) {
    Send(Object({{"type", type}, {id, open.id}, {"delta", std::move(delta)}}), Weight::kPiece);
  };
  switch (open.kind) {
    case Kind::kMessage:
      return send("TEXT_MESSAGE_CONTENT", "messageId", text);
    case Kind::kReasoning:
      return send("REASONING_MESSAGE_CONTENT", "messageId", text);
    case Kind::kCode:
      if (open.ended || kind != ItemDelta::Kind::kCode) return;
      return send("TOOL_CALL_ARGS", "toolCallId",
                  (is_first ? "{\"code\":\"" : "") + JsonInside(text));
    case Kind::kCall:
      if (!open.ended) send("TOOL_CALL_ARGS", "toolCallId", text);
      return;
  }
}

void Translation::EndArguments(OpenItem& open) {
  if (open.ended) return;
  open.ended = true;
  if (open.kind == OpenItem::Kind::kCode) {
    Send(Object({{"type", "TOOL_CALL_ARGS"},
                 {"toolCallId", open.id},
                 {"delta", open.has_text ? "\"}" : "{\"code\":\"\"}"}}),
         Weight::kPiece);
  }
  Send(Object({{"type", "TOOL_CALL_END"}, {"toolCallId", open.id}}));
}

void Translation::Finish(const TurnItem& item) {
  Begin(item);  // If it is complete at once.
  const auto found = open_.find(item.id);
  if (found == open_.end()) return;
  OpenItem& open = found->second;
  if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
    FinishMessage(open, *message);
  } else if (const auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    FinishReasoning(open, *reasoning);
  } else if (const auto* code = std::get_if<CodeCall>(&item.content)) {
    FinishCode(open, item, *code);
  } else if (const auto* tool = std::get_if<HostToolCall>(&item.content)) {
    FinishTool(open, item, *tool);
  } else if (const auto* client = std::get_if<ClientCall>(&item.content)) {
    if (!open.has_text) Piece(open, ItemDelta::Kind::kArguments, client->arguments);
  }
  Close(open);
  open_.erase(found);
}

void Translation::FinishMessage(OpenItem& open, const model::MessageItem& message) {
  const std::string text = TextOf(message);
  if (!open.has_text && !text.empty()) Piece(open, ItemDelta::Kind::kText, text);
}

void Translation::FinishReasoning(OpenItem& open, const model::ReasoningItem& reasoning) {
  if (!open.has_text && !reasoning.text.empty()) {
    Piece(open, ItemDelta::Kind::kReasoning, reasoning.text);
  }
  if (reasoning.encrypted.empty()) return;
  Send(Object({{"type", "REASONING_ENCRYPTED_VALUE"},
               {"subtype", "message"},
               {"entityId", open.id},
               {"encryptedValue", ToUtf8(reasoning.encrypted)}}));
}

void Translation::FinishCode(OpenItem& open, const TurnItem& item, const CodeCall& call) {
  if (!open.has_text && !call.code.empty()) Piece(open, ItemDelta::Kind::kCode, call.code);
  EndArguments(open);
  if (!call.files.empty()) Send(FilesEvent(open.id, call));
  const bool is_over =
      call.progress == CallProgress::kCompleted || call.progress == CallProgress::kFailed;
  if (is_over) Result(open, item.id, call.logs);
}

void Translation::FinishTool(OpenItem& open, const TurnItem& item, const HostToolCall& call) {
  if (!open.has_text && !call.arguments.empty()) {
    Piece(open, ItemDelta::Kind::kArguments, call.arguments);
  }
  EndArguments(open);
  const bool is_over =
      call.progress == CallProgress::kCompleted || call.progress == CallProgress::kFailed;
  if (is_over) Result(open, item.id, call.output);
}

void Translation::Result(const OpenItem& open, const std::string& item, const std::string& text) {
  Send(Object({{"type", "TOOL_CALL_RESULT"},
               {"messageId", ResultMessageId(open.id, item)},
               {"toolCallId", open.id},
               {"content", ToUtf8(text)},
               {"role", "tool"}}));
}

void Translation::Close(OpenItem& open) {
  switch (open.kind) {
    case OpenItem::Kind::kMessage:
      return Send(Object({{"type", "TEXT_MESSAGE_END"}, {"messageId", open.id}}));
    case OpenItem::Kind::kReasoning:
      Send(Object({{"type", "REASONING_MESSAGE_END"}, {"messageId", open.id}}));
      return Send(Object({{"type", "REASONING_END"}, {"messageId", open.id}}));
    case OpenItem::Kind::kCall:
    case OpenItem::Kind::kCode:
      EndArguments(open);
      return Send(Object({{"type", "STEP_FINISHED"}, {"stepName", open.step}}));
  }
}

void Translation::CloseAll() {
  for (auto& [id, open] : open_) Close(open);
  open_.clear();
}

}  // namespace caisson::agui
