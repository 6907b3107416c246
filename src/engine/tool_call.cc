#include <utility>

#include "engine/engine.h"

namespace caisson {

Result<void> Unpack(ToolCall& call, DecodeBudget& budget) {
  if (call.packed.empty()) return {};
  TRY_ASSIGN(Value value, DecodeValue(call.packed, budget));
  std::vector<Value>* items = nullptr;
  if (auto* list = std::get_if<List>(&value.variant())) items = &list->items;
  if (auto* tuple = std::get_if<Tuple>(&value.variant())) items = &tuple->items;
  const Error bad(ErrorCode::kInvalidArgument, "a tool call is not [name, list, dict]");
  if (items == nullptr || items->size() != 3) return bad;
  auto* keywords = std::get_if<Dict>(&(*items)[2].variant());
  if ((*items)[0].If<std::string>() == nullptr || keywords == nullptr) return bad;
  if (auto* list = std::get_if<List>(&(*items)[1].variant())) {
    call.positional = std::move(*list);
  } else if (auto* tuple = std::get_if<Tuple>(&(*items)[1].variant())) {
    call.positional.items = std::move(tuple->items);
  } else {
    return bad;
  }
  call.keywords = std::move(*keywords);
  return {};
}

Result<void> Unpack(ToolCall& call) {
  DecodeBudget budget;
  return Unpack(call, budget);
}

}  // namespace caisson
