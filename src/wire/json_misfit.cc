#include "wire/json_misfit.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {
namespace {

constexpr std::size_t kMaxShownKey = 64;

using Misfit = std::optional<JsonMisfit>;

Misfit Because(std::string reason) {
  return JsonMisfit{.path = {}, .reason = std::move(reason)};
}

// Returns one step of a JSON pointer (RFC 6901), shortened.
std::string Step(std::string_view key) {
  std::string step = "/";
  for (const char c : key.substr(0, kMaxShownKey)) {
    if (c == '~' || c == '/') {
      step += c == '~' ? "~0" : "~1";
    } else {
      step += c;
    }
  }
  return step;
}

Misfit Find(const Value& value, int depth);

Misfit FindBelow(std::string_view key, const Value& value, int depth) {
  auto misfit = Find(value, depth + 1);
  if (misfit) misfit->path.insert(0, Step(key));
  return misfit;
}

Misfit FindIn(const std::vector<Value>& items, int depth) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto misfit = FindBelow(std::to_string(i), items[i], depth)) return misfit;
  }
  return std::nullopt;
}

Misfit FindIn(const Dict& dict, int depth) {
  for (const auto& [key, value] : dict.items) {
    const auto* name = key.If<std::string>();
    if (name == nullptr) return Because("JSON cannot hold a key that is not a str");
    if (auto misfit = FindBelow(*name, value, depth)) return misfit;
  }
  return std::nullopt;
}

Misfit Find(const Value& value, int depth) {
  if (value.If<Bytes>() != nullptr) return Because("JSON cannot hold bytes");
  if (const auto* number = value.If<double>(); number != nullptr && !std::isfinite(*number)) {
    return Because("JSON cannot hold NaN or infinity");
  }
  if (value.If<BigInt>() != nullptr) {
    auto digits = ToJson(value);
    return digits ? std::nullopt : Because(digits.error().message());
  }
  const auto* list = value.If<List>();
  const auto* tuple = value.If<Tuple>();
  const auto* dict = value.If<Dict>();
  if (list == nullptr && tuple == nullptr && dict == nullptr) return std::nullopt;
  if (depth >= kMaxValueDepth) return Because("value is nested too deeply");
  if (dict != nullptr) return FindIn(*dict, depth);
  return FindIn(list != nullptr ? list->items : tuple->items, depth);
}

}  // namespace

std::optional<JsonMisfit> FindJsonMisfit(const Value& value) {
  return Find(value, 0);
}

std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict) {
  return FindIn(dict, 0);
}

}  // namespace caisson
