// Content is what a tool's result looks like to a model: texts and data, in order.
//
// Trust     Whatever the tool said; bounded by whoever called it.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "wire/value.h"

namespace caisson {

struct TextContent {
  std::string text;
  bool operator==(const TextContent&) const = default;
};
struct DataContent {
  std::string bytes;
  std::string media_type = "application/octet-stream";
  bool operator==(const DataContent&) const = default;
};
struct ErrorContent {
  std::string type;
  std::string message;
  bool operator==(const ErrorContent&) const = default;
};
using Content = std::variant<TextContent, DataContent, ErrorContent>;

// A str is its text, bytes are data, None is an empty text, everything else is JSON; what JSON cannot
// hold is said in words.
std::vector<Content> ToContents(const ToolAnswer& answer);

}  // namespace caisson
