#include "protocol/responses/event_writer.h"

#include <utility>

#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

const ImageUrls kNoImages;

std::string* TextOf(model::Part& part) {
  if (auto* text = std::get_if<model::TextPart>(&part)) return &text->text;
  if (auto* refusal = std::get_if<model::RefusalPart>(&part)) return &refusal->text;
  return nullptr;
}
std::string_view TextOf(const model::Part& part) {
  const std::string* text = TextOf(const_cast<model::Part&>(part));  // Only read.
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

// Returns the part of `whole` that was not streamed yet; nothing if the two do not agree.
std::string_view Rest(std::string_view whole, std::string_view streamed) {
  return whole.starts_with(streamed) ? whole.substr(streamed.size()) : std::string_view();
}

// Items that appear as a whole when they end.
bool IsHeld(const TurnItem& item) {
  return std::holds_alternative<HostToolCall>(item.content) ||
         std::holds_alternative<ApprovalRequest>(item.content);
}

JsonObject SummaryPart(std::string_view text) {
  return JsonObject().Text("type", "summary_text").Text("text", text);
}

}  // namespace

std::vector<net::Event> EventWriter::Write(const TurnEvent& event, const ImageUrls& images) {
  if (!begun_) Begin();
  if (const auto* added = std::get_if<ItemAdded>(&event.event)) {
    if (!IsHeld(added->item) && !open_.contains(added->item.id)) Add(added->item);
  } else if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
    const auto open = open_.find(delta->item);
    if (open != open_.end()) Delta(open->second, *delta);
  } else if (const auto* done = std::get_if<ItemDone>(&event.event)) {
    if (IsShown(done->item)) {
      const auto known = open_.find(done->item.id);
      Open& open = known == open_.end() ? Add(done->item) : known->second;
      End(open, done->item, ItemStatus::kCompleted, images);
    }
    open_.erase(done->item.id);
  }
  return std::exchange(events_, {});
}

std::vector<net::Event> EventWriter::Finish(const TurnView& turn, const ImageUrls& images) {
  if (!begun_) Begin();
  for (auto& [id, open] : open_) End(open, TurnItem(open.item), ItemStatus::kIncomplete, images);
  open_.clear();
  const std::string_view status = StatusOf(turn);
  const std::string_view type = status == "completed"    ? "response.completed"
                                : status == "incomplete" ? "response.incomplete"
                                                         : "response.failed";
  Put(type, JsonObject().Put("response", ResponseJson(turn, images)));
  return std::exchange(events_, {});
}

// `fields`: those besides the type and the number.
void EventWriter::Put(std::string_view type, JsonObject fields) {
  fields.Text("type", type).Number("sequence_number", next_number_++);
  events_.push_back({.name = std::string(type), .data = fields.Finish()});
}

JsonObject EventWriter::At(const Open& open) const {
  return JsonObject().Text("item_id", WireId(open.item)).Number("output_index", open.index);
}

void EventWriter::PutItem(std::string_view type, const Open& open, ItemStatus status,
                          const ImageUrls& images) {
  Put(type, JsonObject()
                .Number("output_index", open.index)
                .Put("item", ItemJson(open.item, status, images)));
}

void EventWriter::Begin() {
  begun_ = true;
  const std::string response = BegunResponseJson(facts_, "in_progress");
  Put("response.created", JsonObject().Put("response", response));
  Put("response.in_progress", JsonObject().Put("response", response));
}

EventWriter::Open& EventWriter::Add(const TurnItem& item) {
  Open& open = open_.emplace(item.id, Open{.index = next_index_++, .item = item}).first->second;
  open.item.id = ItemWireId(item.id, facts_.id);
  PutItem("response.output_item.added", open, ItemStatus::kInProgress, kNoImages);
  // From here on, the item holds what was streamed of it.
  if (auto* message = std::get_if<model::MessageItem>(&open.item.content)) message->parts.clear();
  if (auto* reasoning = std::get_if<model::ReasoningItem>(&open.item.content)) *reasoning = {};
  if (auto* call = std::get_if<ClientCall>(&open.item.content)) call->arguments.clear();
  if (auto* code = std::get_if<CodeCall>(&open.item.content)) {
    code->code.clear();
    Put("response.code_interpreter_call.in_progress", At(open));
  }
  return open;
}

void EventWriter::Delta(Open& open, const ItemDelta& delta) {
  using enum ItemDelta::Kind;
  if (auto* message = std::get_if<model::MessageItem>(&open.item.content)) {
    if (delta.kind != kText && delta.kind != kRefusal) return;
    const bool refusal = delta.kind == kRefusal;
    const bool fits = !message->parts.empty() &&
                      std::holds_alternative<model::RefusalPart>(message->parts.back()) == refusal;
    if (!fits) {
      if (!message->parts.empty()) ClosePart(open, message->parts.back());
      message->parts.push_back(refusal ? model::Part(model::RefusalPart{})
                                       : model::Part(model::TextPart{}));
      OpenPart(open, message->parts.back());
    }
    *TextOf(message->parts.back()) += delta.text;
    PartDelta(open, message->parts.back(), delta.text);
  } else if (std::holds_alternative<model::ReasoningItem>(open.item.content)) {
    if (delta.kind == kReasoning) ReasoningDelta(open, delta.text);
  } else if (auto* code = std::get_if<CodeCall>(&open.item.content)) {
    if (delta.kind == kOutput) EndCode(open, code->code);
    if (delta.kind != kCode || open.code_ended) return;
    code->code += delta.text;
    Put("response.code_interpreter_call_code.delta", At(open).Text("delta", delta.text));
  } else if (auto* call = std::get_if<ClientCall>(&open.item.content)) {
    if (delta.kind != kArguments) return;
    call->arguments += delta.text;
    Put("response.function_call_arguments.delta", At(open).Text("delta", delta.text));
  }
}

// `item` is final; open.item has what was streamed.
void EventWriter::End(Open& open, const TurnItem& item, ItemStatus status,
                      const ImageUrls& images) {
  if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
    EndMessage(open, *message);
  } else if (const auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    EndReasoning(open, *reasoning);
  } else if (const auto* code = std::get_if<CodeCall>(&item.content)) {
    EndCode(open, code->code);
    if (status == ItemStatus::kCompleted && code->progress == CallProgress::kCompleted) {
      Put("response.code_interpreter_call.completed", At(open));
    }
  } else if (const auto* tool = std::get_if<HostToolCall>(&item.content)) {
    EndCall(open, *tool);
  } else if (const auto* call = std::get_if<ClientCall>(&item.content)) {
    EndArguments(open, std::get<ClientCall>(open.item.content), *call);
  }
  const std::string id = std::move(open.item.id);
  open.item = item;
  open.item.id = id;
  PutItem("response.output_item.done", open, status, images);
}

void EventWriter::OpenPart(Open& open, const model::Part& part) {
  const bool refusal = std::holds_alternative<model::RefusalPart>(part);
  const model::Part empty =
      refusal ? model::Part(model::RefusalPart{}) : model::Part(model::TextPart{});
  Put("response.content_part.added", At(open)
                                         .Number("content_index", open.parts++)
                                         .Put("part", PartJson(empty, model::Role::kAssistant)));
}

void EventWriter::PartDelta(const Open& open, const model::Part& part, std::string_view text) {
  if (text.empty()) return;
  JsonObject fields = At(open).Number("content_index", open.parts - 1).Text("delta", text);
  if (std::holds_alternative<model::RefusalPart>(part)) {
    Put("response.refusal.delta", std::move(fields));
  } else {
    Put("response.output_text.delta", fields.Put("logprobs", "[]"));
  }
}

void EventWriter::ClosePart(const Open& open, const model::Part& part) {
  JsonObject fields = At(open).Number("content_index", open.parts - 1);
  JsonObject done = fields;
  if (std::holds_alternative<model::RefusalPart>(part)) {
    Put("response.refusal.done", done.Text("refusal", TextOf(part)));
  } else {
    Put("response.output_text.done", done.Text("text", TextOf(part)).Put("logprobs", "[]"));
  }
  Put("response.content_part.done", fields.Put("part", PartJson(part, model::Role::kAssistant)));
}

// A model that does not stream sends its text here.
void EventWriter::EndMessage(Open& open, const model::MessageItem& message) {
  const auto& streamed = std::get<model::MessageItem>(open.item.content).parts;
  std::size_t next = streamed.size();
  if (next > 0) {
    const model::Part& final =
        next <= message.parts.size() ? message.parts[next - 1] : streamed.back();
    const bool same_kind = final.index() == streamed.back().index();
    if (same_kind) PartDelta(open, final, Rest(TextOf(final), TextOf(streamed.back())));
    ClosePart(open, same_kind ? final : streamed.back());
  }
  for (; next < message.parts.size(); ++next) {
    const model::Part& part = message.parts[next];
    if (std::holds_alternative<model::DataPart>(part)) continue;
    OpenPart(open, part);
    PartDelta(open, part, TextOf(part));
    ClosePart(open, part);
  }
}

void EventWriter::ReasoningDelta(Open& open, std::string_view text) {
  if (text.empty()) return;
  if (!std::exchange(open.has_summary, true)) {
    Put("response.reasoning_summary_part.added",
        At(open).Number("summary_index", 0).Put("part", SummaryPart("").Finish()));
  }
  std::get<model::ReasoningItem>(open.item.content).text += text;
  Put("response.reasoning_summary_text.delta",
      At(open).Number("summary_index", 0).Text("delta", text));
}

void EventWriter::EndReasoning(Open& open, const model::ReasoningItem& reasoning) {
  const std::string streamed = std::get<model::ReasoningItem>(open.item.content).text;
  ReasoningDelta(open, Rest(reasoning.text, streamed));
  if (!open.has_summary) return;
  const std::string& text = reasoning.text.empty() ? streamed : reasoning.text;
  Put("response.reasoning_summary_text.done",
      At(open).Number("summary_index", 0).Text("text", text));
  Put("response.reasoning_summary_part.done",
      At(open).Number("summary_index", 0).Put("part", SummaryPart(text).Finish()));
}

void EventWriter::EndCode(Open& open, const std::string& code) {
  if (std::exchange(open.code_ended, true)) return;
  const std::string_view rest = Rest(code, std::get<CodeCall>(open.item.content).code);
  if (!rest.empty()) {
    Put("response.code_interpreter_call_code.delta", At(open).Text("delta", rest));
  }
  Put("response.code_interpreter_call_code.done", At(open).Text("code", code));
  Put("response.code_interpreter_call.interpreting", At(open));
}

void EventWriter::EndCall(const Open& open, const HostToolCall& call) {
  Put("response.mcp_call.in_progress", At(open));
  Put("response.mcp_call_arguments.delta", At(open).Text("delta", call.arguments));
  Put("response.mcp_call_arguments.done", At(open).Text("arguments", call.arguments));
  const bool good = call.progress == CallProgress::kCompleted && !call.is_error;
  Put(good ? "response.mcp_call.completed" : "response.mcp_call.failed", At(open));
}

void EventWriter::EndArguments(const Open& open, const ClientCall& streamed,
                               const ClientCall& call) {
  const std::string_view rest = Rest(call.arguments, streamed.arguments);
  if (!rest.empty()) Put("response.function_call_arguments.delta", At(open).Text("delta", rest));
  Put("response.function_call_arguments.done",
      At(open).Text("name", call.tool).Text("arguments", call.arguments));
}

}  // namespace caisson::responses
