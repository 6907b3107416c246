#include "agent/turn_events.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "agent/turn_items.h"
#include "wire/fields.h"

namespace caisson {
namespace {

constexpr std::string_view kWhat = "event of a turn";

enum Kind : std::int64_t { kBegan = 0, kAdded = 1, kDelta = 2, kDone = 3, kEnded = 4 };

void AddText(TurnItem& item, const ItemDelta& delta) {
  if (auto* message = std::get_if<model::MessageItem>(&item.content)) {
    if (delta.kind == ItemDelta::Kind::kRefusal) {
      message->parts.emplace_back(model::RefusalPart{delta.text});
    } else if (message->parts.empty()) {
      message->parts.emplace_back(model::TextPart{delta.text});
    } else if (auto* text = std::get_if<model::TextPart>(&message->parts.back())) {
      text->text.append(delta.text);
    }
  } else if (auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    reasoning->text.append(delta.text);
  } else if (auto* code = std::get_if<CodeCall>(&item.content)) {
    if (delta.kind == ItemDelta::Kind::kCode) code->code.append(delta.text);
  } else if (auto* tool = std::get_if<HostToolCall>(&item.content)) {
    tool->arguments.append(delta.text);
  } else if (auto* client = std::get_if<ClientCall>(&item.content)) {
    client->arguments.append(delta.text);
  }
}

}  // namespace

std::string Encode(const TurnEvent& event) {
  Dict dict;
  dict.items.emplace_back(std::string("kind"), static_cast<std::int64_t>(event.event.index()));
  if (const auto* added = std::get_if<ItemAdded>(&event.event)) {
    dict.items.emplace_back(std::string("item"), ToValue(added->item));
  } else if (const auto* done = std::get_if<ItemDone>(&event.event)) {
    dict.items.emplace_back(std::string("item"), ToValue(done->item));
  } else if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
    dict.items.emplace_back(std::string("id"), Bytes{delta->item});
    dict.items.emplace_back(std::string("what"), static_cast<std::int64_t>(delta->kind));
    dict.items.emplace_back(std::string("text"), Bytes{delta->text});
  } else if (const auto* ended = std::get_if<TurnEnded>(&event.event)) {
    dict.items.emplace_back(std::string("state"), static_cast<std::int64_t>(ended->state));
  }
  std::string bytes;
  if (!EncodeValue(Value(std::move(dict)), bytes)) std::abort();  // It nests a few levels.
  return bytes;
}

Result<TurnEvent> DecodeTurnEvent(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, kWhat));
  Fields fields(dict);
  const auto kind = fields.Get<std::int64_t>("kind");
  TurnEvent event;
  if (kind == kAdded || kind == kDone) {
    const Value* value = dict.Find("item");
    if (value == nullptr) return Unreadable(kWhat);
    TRY_ASSIGN(TurnItem item, TurnItemFrom(*value));
    if (kind == kAdded) {
      event.event = ItemAdded{std::move(item)};
    } else {
      event.event = ItemDone{std::move(item)};
    }
  } else if (kind == kDelta) {
    event.event = ItemDelta{fields.Get<Bytes>("id").data, fields.Number<ItemDelta::Kind>("what"),
                            fields.Get<Bytes>("text").data};
  } else if (kind == kEnded) {
    event.event = TurnEnded{fields.Number<TurnState>("state")};
  } else if (kind != kBegan) {
    return Unreadable(kWhat);
  }
  if (!fields.good()) return Unreadable(kWhat);
  return event;
}

bool Merge(TurnEvent& last, const TurnEvent& more) {
  auto* first = std::get_if<ItemDelta>(&last.event);
  const auto* second = std::get_if<ItemDelta>(&more.event);
  if (first == nullptr || second == nullptr) return false;
  if (first->item != second->item || first->kind != second->kind) return false;
  first->text.append(second->text);
  return true;
}

std::set<std::string> AddEvents(const std::vector<TurnEvent>& events,
                                std::vector<TurnItem>& output) {
  std::set<std::string> open;
  std::set<std::string> stored;
  for (const TurnItem& item : output) stored.insert(item.id);
  const auto find = [&](const std::string& id) {
    return std::ranges::find(output, id, &TurnItem::id);
  };
  for (const TurnEvent& event : events) {
    if (const auto* added = std::get_if<ItemAdded>(&event.event)) {
      open.insert(added->item.id);
      if (find(added->item.id) != output.end()) continue;
      output.push_back(added->item);
      output.back().is_cut = true;
    } else if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
      const auto item = find(delta->item);
      if (item != output.end() && !stored.contains(delta->item)) AddText(*item, *delta);
    } else if (const auto* done = std::get_if<ItemDone>(&event.event)) {
      open.erase(done->item.id);
      const auto item = find(done->item.id);
      if (item != output.end()) *item = done->item;
    }
  }
  return open;
}

}  // namespace caisson
