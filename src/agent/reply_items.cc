#include "agent/reply_items.h"

#include <utility>
#include <variant>

#include "agent/turn_items.h"
#include "wire/json.h"

namespace caisson {
namespace {

using model::MessageItem;
using model::ReasoningItem;
using model::RefusalPart;
using model::TextPart;

// The text of the message so far, for the part that a delta belongs to.
std::string& PartFor(MessageItem& message, ItemDelta::Kind kind) {
  const bool refuses = kind == ItemDelta::Kind::kRefusal;
  if (message.parts.empty() ||
      std::holds_alternative<RefusalPart>(message.parts.back()) != refuses) {
    if (refuses) {
      message.parts.emplace_back(RefusalPart{});
    } else {
      message.parts.emplace_back(TextPart{});
    }
  }
  auto& part = message.parts.back();
  return refuses ? std::get<RefusalPart>(part).text : std::get<TextPart>(part).text;
}

// Returns the part of `whole` after `begin`; empty if `whole` does not start with `begin`.
std::string Rest(const std::string& whole, const std::string& begin) {
  return whole.starts_with(begin) ? whole.substr(begin.size()) : "";
}

}  // namespace

std::size_t ReplyItems::Open(std::size_t item, TurnItem begun) {
  begun.id = NewTurnItemId(PrefixOf(begun));
  const std::size_t index = output_.Add(std::move(begun));
  open_.emplace(item, index);
  return index;
}

std::size_t ReplyItems::OpenMessage(std::size_t item) {
  if (const auto found = open_.find(item); found != open_.end()) return found->second;
  return Open(item, {.id = "", .content = MessageItem{.role = model::Role::kAssistant}});
}

std::size_t ReplyItems::OpenReasoning(std::size_t item) {
  if (const auto found = open_.find(item); found != open_.end()) return found->second;
  return Open(item, {.id = "", .content = ReasoningItem{}});
}

std::size_t ReplyItems::OpenCall(std::size_t item, const std::string& call_id,
                                 const std::string& name) {
  if (const auto found = open_.find(item); found != open_.end()) return found->second;
  const CallKind kind = kind_of_(name);
  TurnItem begun{.id = "", .content = CodeCall{.call_id = call_id, .code = "", .run = RunId("")}};
  if (kind == CallKind::kTool) {
    begun.content =
        HostToolCall{.call_id = call_id, .tool = name, .arguments = "", .run = RunId("")};
  } else if (kind == CallKind::kClient) {
    begun.content = ClientCall{.call_id = call_id, .tool = name, .arguments = ""};
  }
  return Open(item, std::move(begun));
}

void ReplyItems::AddText(std::size_t item, const std::string& text, ItemDelta::Kind kind) {
  if (kind == ItemDelta::Kind::kReasoning) {
    const std::size_t index = OpenReasoning(item);
    auto* reasoning = std::get_if<ReasoningItem>(&output_.at(index).content);
    if (reasoning == nullptr) return;  // The client of the model mixed its items up.
    reasoning->text.append(text);
    return output_.Delta(index, kind, text);
  }
  const std::size_t index = OpenMessage(item);
  auto* message = std::get_if<MessageItem>(&output_.at(index).content);
  if (message == nullptr) return;
  PartFor(*message, kind).append(text);
  output_.Delta(index, kind, text);
}

void ReplyItems::OnDelta(const model::Delta& delta) {
  if (const auto* text = std::get_if<model::TextDelta>(&delta)) {
    AddText(text->item, text->text, ItemDelta::Kind::kText);
  } else if (const auto* refusal = std::get_if<model::RefusalDelta>(&delta)) {
    AddText(refusal->item, refusal->text, ItemDelta::Kind::kRefusal);
  } else if (const auto* reasoning = std::get_if<model::ReasoningDelta>(&delta)) {
    AddText(reasoning->item, reasoning->text, ItemDelta::Kind::kReasoning);
  } else if (const auto* call = std::get_if<model::ToolCallBegun>(&delta)) {
    OpenCall(call->item, call->call_id, call->name);
  } else if (const auto* more = std::get_if<model::ArgumentsDelta>(&delta)) {
    const auto found = open_.find(more->item);
    if (found == open_.end()) return;
    arguments_[more->item].append(more->text);
    if (auto* code = std::get_if<CodeCall>(&output_.at(found->second).content)) {
      const std::string added = codes_[more->item].Read(arguments_[more->item]);
      code->code.append(added);
      return output_.Delta(found->second, ItemDelta::Kind::kCode, added);
    }
    output_.Delta(found->second, ItemDelta::Kind::kArguments, more->text);
  }
}

void ReplyItems::FinishItem(std::size_t item, const MessageItem& message) {
  const std::size_t index = OpenMessage(item);
  auto* own = std::get_if<MessageItem>(&output_.at(index).content);
  if (own == nullptr) return;
  if (own->parts.size() <= 1 && message.parts.size() == 1) {
    if (const auto* text = std::get_if<TextPart>(&message.parts[0])) {
      const auto* begun = own->parts.empty() ? nullptr : std::get_if<TextPart>(&own->parts[0]);
      output_.Delta(index, ItemDelta::Kind::kText,
                    Rest(text->text, begun == nullptr ? "" : begun->text));
    }
  }
  own->parts = message.parts;
  output_.Done(index);
}

void ReplyItems::FinishItem(std::size_t item, const ReasoningItem& reasoning) {
  const std::size_t index = OpenReasoning(item);
  auto* own = std::get_if<ReasoningItem>(&output_.at(index).content);
  if (own == nullptr) return;
  output_.Delta(index, ItemDelta::Kind::kReasoning, Rest(reasoning.text, own->text));
  *own = reasoning;
  output_.Done(index);
}

void ReplyItems::FinishItem(std::size_t item, const model::ToolCallItem& call) {
  const std::size_t index = OpenCall(item, call.call_id, call.name);
  auto& content = output_.at(index).content;
  const std::string rest = Rest(call.arguments, arguments_[item]);
  if (auto* code = std::get_if<CodeCall>(&content)) {
    auto parsed = ParseCodeArguments(call.arguments);
    // Arguments that cannot be parsed are kept, so that the model sees its mistake.
    std::string whole = parsed ? std::move(parsed->code) : call.arguments;
    output_.Delta(index, ItemDelta::Kind::kCode, Rest(whole, code->code));
    code->code = std::move(whole);
  } else if (auto* tool = std::get_if<HostToolCall>(&content)) {
    output_.Delta(index, ItemDelta::Kind::kArguments, rest);
    tool->arguments = call.arguments;
  } else if (auto* client = std::get_if<ClientCall>(&content)) {
    output_.Delta(index, ItemDelta::Kind::kArguments, rest);
    client->arguments = call.arguments;
    output_.Done(index);
  }
  calls_.push_back({.index = index, .arguments = call.arguments});
}

void ReplyItems::FinishItem(std::size_t, const model::ToolResultItem&) {}  // Not a model's to make.

std::vector<CallOfReply> ReplyItems::Finish(const model::ModelReply& reply) {
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    std::visit([&](const auto& item) { FinishItem(i, item); }, reply.items[i]);
  }
  return calls_;
}

void ReplyItems::Cut() {
  for (const auto& [item, index] : open_) {
    if (!output_.is_open(index)) continue;
    TurnItem& own = output_.at(index);
    own.is_cut = true;
    static constexpr const char* kWhy = "The model did not finish this call. It was not made.";
    if (auto* code = std::get_if<CodeCall>(&own.content)) {
      code->progress = CallProgress::kFailed;
      code->logs = kWhy;
      code->is_error = true;
    } else if (auto* tool = std::get_if<HostToolCall>(&own.content)) {
      tool->progress = CallProgress::kFailed;
      tool->output = kWhy;
      tool->is_error = true;
    }
    output_.Done(index);
  }
}

std::string CodeArgumentsText(const std::string& code) {
  auto json = ToJson(Value(Dict{{{"code", code}}}));
  return json ? *std::move(json) : "{}";  // Text that is not UTF-8.
}

Result<Dict> ParseArguments(std::string_view arguments) {
  if (arguments.empty()) return Dict{};
  auto parsed = ParseJson(arguments);
  if (!parsed) return std::move(parsed).error().Context("the arguments are not valid JSON");
  auto* dict = std::get_if<Dict>(&parsed->variant());
  if (dict == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "the arguments must be a JSON object");
  }
  return std::move(*dict);
}

Result<CodeArguments> ParseCodeArguments(std::string_view arguments) {
  TRY_ASSIGN(Dict all, ParseArguments(arguments));
  const Value* value = all.Find("code");
  const auto* code = value == nullptr ? nullptr : value->If<std::string>();
  if (code == nullptr) {
    return Error(ErrorCode::kInvalidArgument,
                 "the arguments of execute_code must have the code as the text \"code\"");
  }
  const Value* limits = all.Find("limits");
  if (limits != nullptr && limits->If<Dict>() == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "\"limits\" must be an object");
  }
  std::string text = *code;
  return CodeArguments{.code = std::move(text), .all = std::move(all)};
}

}  // namespace caisson
