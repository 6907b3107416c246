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

class Search {
 public:
  Misfit In(const Value& value, int depth) {
    if (value.If<Bytes>() != nullptr) return Because("JSON cannot hold bytes");
    if (const auto* number = value.If<double>(); number != nullptr && !std::isfinite(*number)) {
      return Because("JSON cannot hold NaN or infinity");
    }
    if (value.If<BigInt>() != nullptr) return InLongInt(value);
    if (const auto* dict = value.If<Dict>()) return In(*dict, depth);
    const auto* list = value.If<List>();
    const auto* tuple = value.If<Tuple>();
    if (list == nullptr && tuple == nullptr) return std::nullopt;
    return In(list != nullptr ? list->items : tuple->items, depth);
  }

  Misfit In(const Dict& dict, int depth) {
    if (depth >= kMaxValueDepth) return TooDeep();
    for (const auto& [key, value] : dict.items) {
      const auto* name = key.If<std::string>();
      if (name == nullptr) return Because("JSON cannot hold a key that is not a str");
      if (auto misfit = Below(*name, value, depth)) return misfit;
    }
    return std::nullopt;
  }

 private:
  static Misfit TooDeep() { return Because("value is nested too deeply"); }

  Misfit In(const std::vector<Value>& items, int depth) {
    if (depth >= kMaxValueDepth) return TooDeep();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (auto misfit = Below(std::to_string(i), items[i], depth)) return misfit;
    }
    return std::nullopt;
  }

  Misfit Below(std::string_view key, const Value& value, int depth) {
    auto misfit = In(value, depth + 1);
    if (misfit) misfit->path.insert(0, Step(key));
    return misfit;
  }

  Misfit InLongInt(const Value& value) {
    const auto digits = ToJson(value);
    if (!digits) return Because(digits.error().message());
    const auto charged = int_work_.Charge(digits->size());
    return charged ? std::nullopt : Because(charged.error().message());
  }

  IntWork int_work_;  // Of the whole text.
};

}  // namespace

std::optional<JsonMisfit> FindJsonMisfit(const Value& value, int levels_around) {
  return Search().In(value, levels_around);
}

std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict, int levels_around) {
  return Search().In(dict, levels_around);
}

}  // namespace caisson
