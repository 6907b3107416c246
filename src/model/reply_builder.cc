#include "model/reply_builder.h"

#include <utility>

namespace caisson::model {
namespace {

constexpr std::size_t kMaxId = 256;  // A longer id is replaced.

Error TooMuch(std::string message) {
  return Error(ErrorCode::kResourceExhausted, std::move(message));
}

}  // namespace

Result<void> ReplyBuilder::Charge(std::size_t bytes) {
  if (bytes > bounds_.bytes - used_bytes_) {
    return TooMuch("the model's reply is longer than " + std::to_string(bounds_.bytes) + " bytes");
  }
  used_bytes_ += bytes;
  return {};
}

Result<ReplyBuilder::Index> ReplyBuilder::Add(Item item) {
  if (reply_.items.size() >= bounds_.items) {
    return TooMuch("the model's reply has more than " + std::to_string(bounds_.items) + " items");
  }
  reply_.items.push_back(std::move(item));
  return reply_.items.size() - 1;
}

Result<ReplyBuilder::Index> ReplyBuilder::BeginMessage() {
  return Add(MessageItem{.role = Role::kAssistant});
}

Result<ReplyBuilder::Index> ReplyBuilder::BeginReasoning() {
  return Add(ReasoningItem{});
}

Result<ReplyBuilder::Index> ReplyBuilder::BeginCall(std::string_view id, std::string_view name) {
  TRY(Charge(name.size()));
  std::string unique(id.size() <= kMaxId ? id : "");
  // The number of the item is part of new ids, so the search is short.
  for (std::size_t n = reply_.items.size(); unique.empty() || ids_.contains(unique); ++n) {
    unique = "call_" + std::to_string(ids_.size()) + "_" + std::to_string(n);
  }
  ids_.insert(unique);
  TRY_ASSIGN(const Index index,
             Add(ToolCallItem{.call_id = unique, .name = std::string(name), .arguments = ""}));
  has_calls_ = true;
  Tell(ToolCallBegun{.item = index, .call_id = unique, .name = std::string(name)});
  return index;
}

template <typename Kind>
Result<void> ReplyBuilder::AppendPart(Index item, std::string_view piece) {
  if (piece.empty()) return {};
  TRY(Charge(piece.size()));
  auto& parts = std::get<MessageItem>(reply_.items[item]).parts;
  if (parts.empty() || !std::holds_alternative<Kind>(parts.back())) parts.emplace_back(Kind{});
  std::get<Kind>(parts.back()).text.append(piece);
  return {};
}

Result<void> ReplyBuilder::AppendText(Index item, std::string_view piece) {
  TRY(AppendPart<TextPart>(item, piece));
  if (!piece.empty()) Tell(TextDelta{item, std::string(piece)});
  return {};
}

Result<void> ReplyBuilder::AppendRefusal(Index item, std::string_view piece) {
  TRY(AppendPart<RefusalPart>(item, piece));
  if (!piece.empty()) Tell(RefusalDelta{item, std::string(piece)});
  return {};
}

Result<void> ReplyBuilder::AppendReasoning(Index item, std::string_view piece) {
  if (piece.empty()) return {};
  TRY(Charge(piece.size()));
  std::get<ReasoningItem>(reply_.items[item]).text.append(piece);
  Tell(ReasoningDelta{item, std::string(piece)});
  return {};
}

Result<void> ReplyBuilder::AppendArguments(Index item, std::string_view piece) {
  if (piece.empty()) return {};
  TRY(Charge(piece.size()));
  std::get<ToolCallItem>(reply_.items[item]).arguments.append(piece);
  Tell(ArgumentsDelta{item, std::string(piece)});
  return {};
}

Result<void> ReplyBuilder::SetEncrypted(Index item, std::string text) {
  TRY(Charge(text.size()));
  std::get<ReasoningItem>(reply_.items[item]).encrypted = std::move(text);
  return {};
}

std::string ReplyBuilder::TextOf(Index item) const {
  const Item& found = reply_.items[item];
  if (const auto* call = std::get_if<ToolCallItem>(&found)) return call->arguments;
  if (const auto* reasoning = std::get_if<ReasoningItem>(&found)) return reasoning->text;
  std::string text;
  for (const Part& part : std::get<MessageItem>(found).parts) {
    if (const auto* piece = std::get_if<TextPart>(&part)) text.append(piece->text);
  }
  return text;
}

ModelReply ReplyBuilder::Take() {
  for (Index i = 0; i < reply_.items.size(); ++i) {
    auto* call = std::get_if<ToolCallItem>(&reply_.items[i]);
    if (call == nullptr || call->arguments.find_first_not_of(" \t\r\n") != std::string::npos) {
      continue;
    }
    call->arguments = "{}";
    Tell(ArgumentsDelta{i, "{}"});
  }
  if (has_calls_ && reply_.finish == Finish::kStop) reply_.finish = Finish::kToolCalls;
  return std::move(reply_);
}

std::set<std::string> CallIds(const std::vector<Item>& items) {
  std::set<std::string> ids;
  for (const Item& item : items) {
    if (const auto* call = std::get_if<ToolCallItem>(&item)) ids.insert(call->call_id);
  }
  return ids;
}

}  // namespace caisson::model
