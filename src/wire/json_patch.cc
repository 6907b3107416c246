#include "wire/json_patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "wire/object.h"

namespace caisson {
namespace {

using Pointer = std::vector<std::string>;

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

Error NotThere(std::string_view token) {
  return Bad("the path has no \"" + std::string(token) + "\"");
}

// RFC 6901 allows no leading zeros and no sign.
Result<std::size_t> ParseIndex(std::string_view token) {
  std::size_t index = 0;
  const auto [end, failed] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool digits = failed == std::errc() && end == token.data() + token.size();
  if (!digits || (token.size() > 1 && token.front() == '0')) return NotThere(token);
  return index;
}

std::pair<Value, Value>* FindMember(Dict& dict, std::string_view key) {
  const auto found = std::ranges::find_if(dict.items, [&](const auto& item) {
    const auto* name = item.first.template If<std::string>();
    return name != nullptr && *name == key;
  });
  return found == dict.items.end() ? nullptr : &*found;
}

Result<Value*> Child(Value& parent, const std::string& token) {
  if (auto* dict = std::get_if<Dict>(&parent.variant())) {
    auto* member = FindMember(*dict, token);
    if (member == nullptr) return NotThere(token);
    return &member->second;
  }
  if (auto* list = std::get_if<List>(&parent.variant())) {
    TRY_ASSIGN(const std::size_t index, ParseIndex(token));
    if (index >= list->items.size()) return NotThere(token);
    return &list->items[index];
  }
  return NotThere(token);
}

Result<Value*> Walk(Value& document, const Pointer& path, std::size_t steps) {
  Value* at = &document;
  for (std::size_t i = 0; i < steps; ++i) {
    TRY_ASSIGN(at, Child(*at, path[i]));
  }
  return at;
}

Result<void> Add(Value& document, const Pointer& path, Value value) {
  if (path.empty()) {
    document = std::move(value);
    return {};
  }
  TRY_ASSIGN(Value* const parent, Walk(document, path, path.size() - 1));
  const std::string& last = path.back();
  if (auto* dict = std::get_if<Dict>(&parent->variant())) {
    if (auto* member = FindMember(*dict, last)) {
      member->second = std::move(value);
    } else {
      dict->items.emplace_back(last, std::move(value));
    }
    return {};
  }
  auto* list = std::get_if<List>(&parent->variant());
  if (list == nullptr) return NotThere(last);
  std::size_t index = list->items.size();
  if (last != "-") {
    TRY_ASSIGN(index, ParseIndex(last));
  }
  if (index > list->items.size()) return NotThere(last);
  list->items.insert(list->items.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
  return {};
}

Result<Value> Remove(Value& document, const Pointer& path) {
  if (path.empty()) return std::exchange(document, Value());
  TRY_ASSIGN(Value* const parent, Walk(document, path, path.size() - 1));
  TRY_ASSIGN(Value* const child, Child(*parent, path.back()));
  Value removed = std::move(*child);
  if (auto* list = std::get_if<List>(&parent->variant())) {
    list->items.erase(list->items.begin() + (child - list->items.data()));
  } else {
    auto& items = std::get<Dict>(parent->variant()).items;
    std::erase_if(items, [child](const auto& item) { return &item.second == child; });
  }
  return removed;
}

// Equality as RFC 6902 defines it: the order of members does not matter, and 1 equals 1.0.
bool Same(const Value& a, const Value& b) {
  const auto number = [](const Value& value) -> std::optional<double> {
    if (const auto* whole = value.If<std::int64_t>()) return static_cast<double>(*whole);
    if (const auto* real = value.If<double>()) return *real;
    return std::nullopt;
  };
  if (a.variant().index() != b.variant().index()) {
    const auto left = number(a);
    return left && left == number(b);
  }
  if (const auto* list = a.If<List>()) {
    return std::ranges::equal(list->items, b.If<List>()->items, Same);
  }
  const auto* dict = a.If<Dict>();
  if (dict == nullptr) return a == b;
  const auto* other = b.If<Dict>();
  return dict->items.size() == other->items.size() &&
         std::ranges::all_of(dict->items, [&](const auto& item) {
           const auto* key = item.first.template If<std::string>();
           const Value* value = key == nullptr ? nullptr : other->Find(*key);
           return value != nullptr && Same(item.second, *value);
         });
}

Result<Pointer> PathOf(const Dict& operation, std::string_view name) {
  const auto* text = FindAs<std::string>(operation, name);
  if (text == nullptr) return Bad("an operation needs \"" + std::string(name) + "\"");
  return ParsePointer(*text);
}

bool IsPrefix(const Pointer& path, const Pointer& of) {
  return path.size() < of.size() && std::equal(path.begin(), path.end(), of.begin());
}

Result<void> Perform(Value& document, const Dict& operation) {
  const auto* op = FindAs<std::string>(operation, "op");
  if (op == nullptr) return Bad("an operation needs \"op\"");
  TRY_ASSIGN(const Pointer path, PathOf(operation, "path"));
  if (*op == "remove") {
    TRY(Remove(document, path));
    return {};
  }
  if (*op == "move" || *op == "copy") {
    TRY_ASSIGN(const Pointer from, PathOf(operation, "from"));
    if (*op == "copy") {
      TRY_ASSIGN(const Value* const source, Walk(document, from, from.size()));
      return Add(document, path, *source);
    }
    if (IsPrefix(from, path)) return Bad("a value cannot move into itself");
    TRY_ASSIGN(Value moved, Remove(document, from));
    return Add(document, path, std::move(moved));
  }
  const Value* value = operation.Find("value");
  if (value == nullptr) return Bad("an operation needs \"value\"");
  if (*op == "add") return Add(document, path, *value);
  TRY_ASSIGN(Value* const target, Walk(document, path, path.size()));
  if (*op == "replace") {
    *target = Value(*value);
    return {};
  }
  if (*op != "test") return Bad("there is no operation \"" + *op + "\"");
  if (!Same(*target, *value)) return Bad("a test of the patch failed");
  return {};
}

std::string Escaped(std::string_view token) {
  std::string text;
  for (const char c : token) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

void Difference(const Value& from, const Value& to, const std::string& path, List& patch);

void DictDifference(const Dict& from, const Dict& to, const std::string& path, List& patch) {
  for (const auto& [key, value] : from.items) {
    const std::string& name = *key.If<std::string>();
    if (to.Find(name) == nullptr) {
      patch.items.emplace_back(Object({{"op", "remove"}, {"path", path + "/" + Escaped(name)}}));
    }
  }
  for (const auto& [key, value] : to.items) {
    const std::string& name = *key.If<std::string>();
    const std::string at = path + "/" + Escaped(name);
    if (const Value* old = from.Find(name)) {
      Difference(*old, value, at, patch);
    } else {
      patch.items.emplace_back(Object({{"op", "add"}, {"path", at}, {"value", value}}));
    }
  }
}

void ListDifference(const List& from, const List& to, const std::string& path, List& patch) {
  const std::size_t common = std::min(from.items.size(), to.items.size());
  for (std::size_t i = 0; i < common; ++i) {
    Difference(from.items[i], to.items[i], path + "/" + std::to_string(i), patch);
  }
  for (std::size_t i = from.items.size(); i > common; --i) {
    patch.items.emplace_back(
        Object({{"op", "remove"}, {"path", path + "/" + std::to_string(i - 1)}}));
  }
  for (std::size_t i = common; i < to.items.size(); ++i) {
    patch.items.emplace_back(
        Object({{"op", "add"}, {"path", path + "/-"}, {"value", to.items[i]}}));
  }
}

void Difference(const Value& from, const Value& to, const std::string& path, List& patch) {
  if (from == to) return;
  const auto* old_dict = from.If<Dict>();
  const auto* new_dict = to.If<Dict>();
  if (old_dict != nullptr && new_dict != nullptr) {
    return DictDifference(*old_dict, *new_dict, path, patch);
  }
  const auto* old_list = from.If<List>();
  const auto* new_list = to.If<List>();
  if (old_list != nullptr && new_list != nullptr) {
    return ListDifference(*old_list, *new_list, path, patch);
  }
  patch.items.emplace_back(Object({{"op", "replace"}, {"path", path}, {"value", to}}));
}

}  // namespace

Result<Pointer> ParsePointer(std::string_view text) {
  Pointer tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') return Bad("a path must be empty or begin with \"/\"");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      tokens.emplace_back();
      if (tokens.size() > static_cast<std::size_t>(kMaxValueDepth))
        return Bad("a path is too long");
    } else if (text[i] != '~') {
      tokens.back() += text[i];
    } else {
      const char next = i + 1 < text.size() ? text[++i] : '\0';
      if (next != '0' && next != '1') return Bad("\"~\" in a path must be followed by 0 or 1");
      tokens.back() += next == '0' ? '~' : '/';
    }
  }
  return tokens;
}

Result<Value> ApplyPatch(Value document, const List& patch, std::size_t max_bytes) {
  if (patch.items.size() > kMaxPatchOperations) {
    return Bad("a patch can have " + std::to_string(kMaxPatchOperations) + " operations");
  }
  for (const Value& item : patch.items) {
    const auto* operation = item.If<Dict>();
    if (operation == nullptr) return Bad("an operation must be an object");
    TRY(Perform(document, *operation));
    // After each: copies of copies grow quickly, in size and in depth.
    if (DecodedBytes(document) > max_bytes) {
      return Error(ErrorCode::kResourceExhausted, "the patched value would have more than " +
                                                      std::to_string(max_bytes) + " bytes");
    }
    std::string encoded;
    if (auto fits = EncodeValue(document, encoded); !fits) return Bad(fits.error().message());
  }
  return document;
}

List MakePatch(const Value& from, const Value& to) {
  List patch;
  Difference(from, to, "", patch);
  return patch;
}

}  // namespace caisson
