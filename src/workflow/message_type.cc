#include "workflow/message_type.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/closest.h"
#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::array<std::string_view, 7> kWords = {"string", "integer", "number", "boolean",
                                                    "array",  "object",  "null"};

// Both ends may write "integer" where the other one writes "number".
bool Meets(const std::string& a, const std::string& b) {
  return a == b || (a == "integer" && b == "number") || (a == "number" && b == "integer");
}

}  // namespace

Result<MessageType> MessageType::FromSchema(const Value& schema) {
  const auto* word = schema.If<std::string>();
  if (word != nullptr && *word == "any") return MessageType();
  if (word != nullptr && std::ranges::find(kWords, *word) == kWords.end()) {
    std::vector<std::string_view> words(kWords.begin(), kWords.end());
    words.emplace_back("any");
    return Error(ErrorCode::kInvalidArgument,
                 "\"" + *word + "\" is not a type" + DidYouMean(*word, words));
  }
  Value document = word != nullptr ? Value(Object({{"type", *word}})) : schema;
  MessageType type;
  if (const auto* dict = document.If<Dict>()) {
    if (const auto* one = FindAs<std::string>(*dict, "type")) type.types_.insert(*one);
    if (const auto* several = FindAs<List>(*dict, "type")) {
      for (const Value& item : several->items) {
        if (const auto* name = item.If<std::string>()) type.types_.insert(*name);
      }
    }
  }
  TRY_ASSIGN(type.schema_, Schema::Compile(std::move(document)));
  return type;
}

std::optional<std::string> MessageType::Check(const Value& message) const {
  if (!schema_) return std::nullopt;
  const auto problems = schema_->Check(message);
  if (problems.empty()) return std::nullopt;
  return problems.front().Text();
}

bool MessageType::Overlaps(const MessageType& other) const {
  if (types_.empty() || other.types_.empty()) return true;
  return std::ranges::any_of(types_, [&](const std::string& one) {
    return std::ranges::any_of(other.types_,
                               [&](const std::string& two) { return Meets(one, two); });
  });
}

std::string MessageType::Name() const {
  std::string name;
  for (const std::string& type : types_) name.append(name.empty() ? "" : " or ").append(type);
  return name.empty() ? "any" : name;
}

}  // namespace caisson
