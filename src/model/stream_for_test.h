// Replays recorded answers of servers in pieces, and writes replies as text.
//
// Trust     For tests.
// Threads   One at a time.
// Lifetime  Values.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dialect.h"
#include "model/stream_reader.h"

namespace caisson::model {

struct Replayed {
  Result<ModelReply> reply = Error(ErrorCode::kInternal, "nothing was replayed");
  std::vector<Delta> deltas{};
};

// Gives the answer to a reader of the dialect in two pieces, cut at `cut`, or in single bytes.
inline constexpr std::size_t kEachByte = std::string_view::npos;
inline Replayed Replay(const Dialect& dialect, std::string_view answer, std::size_t cut,
                       std::set<std::string> taken_ids = {}, std::size_t max_bytes = 8u << 20) {
  Replayed out;
  ReplyBuilder builder([&out](const Delta& delta) { out.deltas.push_back(delta); },
                       std::move(taken_ids), {.bytes = max_bytes});
  StreamReader reader(dialect.Read(std::move(builder)), max_bytes);
  const std::size_t size = cut == kEachByte ? 1 : cut;
  while (!answer.empty()) {
    const bool is_first = size != 1 && cut != kEachByte;
    const std::string_view piece =
        is_first ? answer.substr(0, std::max<std::size_t>(cut, 1)) : answer.substr(0, 1);
    answer.remove_prefix(piece.size());
    auto progress = reader.Put(piece);
    if (!progress || *progress == Progress::kDone) break;
    if (is_first) {
      static_cast<void>(reader.Put(answer).has_value());
      break;
    }
  }
  out.reply = reader.End();
  return out;
}

// Writes an item: `text "Hi"`, `refusal "No"`, `reasoning "Hm"`, `call id name arguments`.
inline std::string Written(const Item& item) {
  if (const auto* call = std::get_if<ToolCallItem>(&item)) {
    return "call " + call->call_id + " " + call->name + " " + call->arguments;
  }
  if (const auto* reasoning = std::get_if<ReasoningItem>(&item)) {
    return "reasoning \"" + reasoning->text + "\"" +
           (reasoning->encrypted.empty() ? "" : " " + reasoning->encrypted);
  }
  std::string text;
  if (const auto* message = std::get_if<MessageItem>(&item)) {
    for (const Part& part : message->parts) {
      text.append(text.empty() ? "" : " ");
      if (const auto* piece = std::get_if<TextPart>(&part)) text += "text \"" + piece->text + "\"";
      if (const auto* no = std::get_if<RefusalPart>(&part)) text += "refusal \"" + no->text + "\"";
    }
  }
  return text;
}

inline std::vector<std::string> Written(const Result<ModelReply>& reply) {
  if (!reply) return {"failed: " + reply.error().message()};
  std::vector<std::string> items;
  for (const Item& item : reply->items) items.push_back(Written(item));
  return items;
}

// Puts the deltas together again. Equal to the items of the reply, apart from what is encrypted.
inline std::vector<std::string> Assembled(const std::vector<Delta>& deltas) {
  std::vector<Item> items;
  const auto at = [&](std::size_t index, Item fresh) -> Item& {
    while (items.size() <= index) items.push_back(fresh);
    return items[index];
  };
  for (const Delta& delta : deltas) {
    if (const auto* begun = std::get_if<ToolCallBegun>(&delta)) {
      at(begun->item, ToolCallItem{begun->call_id, begun->name, ""});
    } else if (const auto* text = std::get_if<TextDelta>(&delta)) {
      auto& parts = std::get<MessageItem>(at(text->item, MessageItem{})).parts;
      if (parts.empty() || parts.back().index() != 0) parts.emplace_back(TextPart{});
      std::get<TextPart>(parts.back()).text += text->text;
    } else if (const auto* refusal = std::get_if<RefusalDelta>(&delta)) {
      auto& parts = std::get<MessageItem>(at(refusal->item, MessageItem{})).parts;
      if (parts.empty() || parts.back().index() != 1) parts.emplace_back(RefusalPart{});
      std::get<RefusalPart>(parts.back()).text += refusal->text;
    } else if (const auto* reasoning = std::get_if<ReasoningDelta>(&delta)) {
      std::get<ReasoningItem>(at(reasoning->item, ReasoningItem{})).text += reasoning->text;
    } else if (const auto* piece = std::get_if<ArgumentsDelta>(&delta)) {
      std::get<ToolCallItem>(items.at(piece->item)).arguments += piece->text;
    }
  }
  std::vector<std::string> written;
  for (const Item& item : items) written.push_back(Written(item));
  return written;
}

}  // namespace caisson::model
