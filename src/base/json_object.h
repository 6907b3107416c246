// A JsonObject writes a JSON object member by member.
//
//   JsonObject().Text("id", id).Put("usage", usage_json).Number("created_at", 7).Finish();
//
// Trust     Texts may be any bytes; they become JSON strings (base/json_quote.h). The caller
//           guarantees that names need no escapes and that the JSON of Put() is valid.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "base/json_quote.h"

namespace caisson {

class JsonObject {
 public:
  JsonObject& Put(std::string_view name, std::string_view json) {
    text_.append(text_.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(json);
    return *this;
  }
  JsonObject& Text(std::string_view name, std::string_view text) {
    return Put(name, JsonQuoted(text));
  }
  JsonObject& Number(std::string_view name, std::integral auto number) {
    return Put(name, std::to_string(number));
  }
  JsonObject& Flag(std::string_view name, std::same_as<bool> auto flag) {
    return Put(name, flag ? "true" : "false");
  }
  std::string Finish() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

// Appends one element to a JSON array that is being written ("[" at first).
inline void AppendElement(std::string& array, std::string_view json) {
  if (array.size() > 1) array.push_back(',');
  array.append(json);
}

}  // namespace caisson
