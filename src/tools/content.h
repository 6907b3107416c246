// Content is a tool's result in the form that a model sees: texts and data, in order.
//
// Trust     Written by the tool; the caller bounds its size.
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
  std::string stream{};  // "stderr" if it was written there.
  bool operator==(const TextContent&) const = default;
};
struct DataContent {
  std::string bytes;
  std::string media_type = "application/octet-stream";
  std::string path{};  // Of a file, as the code sees it.
  bool operator==(const DataContent&) const = default;
};
struct ErrorContent {
  std::string type;
  std::string message;
  bool operator==(const ErrorContent&) const = default;
};
using Content = std::variant<TextContent, DataContent, ErrorContent>;

// A str becomes its text, bytes become data, None an empty text, and everything else JSON. Values
// that JSON cannot hold are described in words.
std::vector<Content> ToContents(const ToolAnswer& answer);

}  // namespace caisson
