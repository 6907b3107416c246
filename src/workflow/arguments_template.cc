#include "workflow/arguments_template.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace caisson {
namespace {

struct Reference {
  bool is_state = false;
  std::string_view pointer;
};

// nullopt: the value is no reference.
std::optional<Reference> ReadReference(const Dict& dict) {
  if (dict.items.size() != 1) return std::nullopt;
  const auto* key = dict.items[0].first.If<std::string>();
  const auto* pointer = dict.items[0].second.If<std::string>();
  if (key == nullptr || (*key != "$message" && *key != "$state")) return std::nullopt;
  if (pointer == nullptr) return Reference{.is_state = *key == "$state", .pointer = "?"};
  return Reference{.is_state = *key == "$state", .pointer = *pointer};
}

bool IsPointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

std::string Unescape(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text.push_back(token[i]);
    } else {
      text.push_back(token[++i] == '0' ? '~' : '/');
    }
  }
  return text;
}

const Value* Item(const List& list, std::string_view token) {
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_whole = read.ec == std::errc() && read.ptr == token.data() + token.size();
  if (!is_whole || (token.size() > 1 && token.front() == '0')) return nullptr;
  return index < list.items.size() ? &list.items[index] : nullptr;
}

// Returns null if there is no such part. Precondition: IsPointer(pointer).
const Value* Resolve(const Value& whole, std::string_view pointer) {
  const Value* part = &whole;
  while (!pointer.empty() && part != nullptr) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    if (const auto* dict = part->If<Dict>()) {
      part = dict->Find(Unescape(token));
    } else {
      const auto* list = part->If<List>();
      part = list == nullptr ? nullptr : Item(*list, token);
    }
  }
  return part;
}

Result<void> CheckPart(const Value& part) {
  if (const auto* dict = part.If<Dict>()) {
    if (const auto reference = ReadReference(*dict)) {
      if (IsPointer(reference->pointer)) return {};
      return Error(ErrorCode::kInvalidArgument,
                   "a reference needs a JSON Pointer such as \"/text\", or \"\" for the whole");
    }
    for (const auto& [key, value] : dict->items) TRY(CheckPart(value));
  }
  if (const auto* list = part.If<List>()) {
    for (const Value& item : list->items) TRY(CheckPart(item));
  }
  return {};
}

Result<Value> FillPart(const Value& part, const Value& message, const Value& state) {
  if (const auto* list = part.If<List>()) {
    List filled;
    for (const Value& item : list->items) {
      TRY_ASSIGN(Value value, FillPart(item, message, state));
      filled.items.push_back(std::move(value));
    }
    return Value(std::move(filled));
  }
  const auto* dict = part.If<Dict>();
  if (dict == nullptr) return part;
  if (const auto reference = ReadReference(*dict)) {
    const Value* found = Resolve(reference->is_state ? state : message, reference->pointer);
    if (found != nullptr) return *found;
    return Error(ErrorCode::kInvalidArgument,
                 std::string(reference->is_state ? "the shared state" : "the message") +
                     " has nothing at \"" + std::string(reference->pointer) + "\"");
  }
  Dict filled;
  for (const auto& [key, value] : dict->items) {
    TRY_ASSIGN(Value item, FillPart(value, message, state));
    filled.items.emplace_back(key, std::move(item));
  }
  return Value(std::move(filled));
}

}  // namespace

Result<void> CheckTemplate(const Value& arguments) {
  if (arguments.If<Dict>() == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "arguments must be an object");
  }
  return CheckPart(arguments);
}

Result<Value> FillTemplate(const Value& arguments, const Value& message, const Dict& state) {
  return FillPart(arguments, message, Value(state));
}

}  // namespace caisson
