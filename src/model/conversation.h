// The items of a conversation with a language model, in a form that all model APIs share. An agent
// stores its history as items; a model client translates them.
//
// Trust     User input, model output and tool results are all hostile content. Sizes are bounded by
//           the parser that made the item.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace caisson::model {

enum class Role { kUser, kAssistant, kDeveloper };  // kDeveloper: instructions in mid-conversation.

struct TextPart {
  std::string text;
  bool operator==(const TextPart&) const = default;
};
struct RefusalPart {
  std::string text;
  bool operator==(const RefusalPart&) const = default;
};
// An image or a file. Exactly one of `url` and `bytes` is set.
struct DataPart {
  std::string media_type;
  std::string bytes{};
  std::string url{};  // http or https; the model's server fetches it.
  std::string filename{};
  bool operator==(const DataPart&) const = default;
};
using Part = std::variant<TextPart, RefusalPart, DataPart>;

struct MessageItem {
  Role role = Role::kUser;
  std::vector<Part> parts{};
  bool operator==(const MessageItem&) const = default;
};
struct ReasoningItem {
  std::string text{};       // Readable text or summary; may be empty.
  std::string encrypted{};  // Opaque to everybody but the model that wrote it.
  bool operator==(const ReasoningItem&) const = default;
};
struct ToolCallItem {
  std::string call_id;
  std::string name;
  std::string arguments;  // The text that the model wrote; JSON if the model did well.
  bool operator==(const ToolCallItem&) const = default;
};
struct ToolResultItem {
  std::string call_id;
  std::vector<Part> parts{};
  bool is_error = false;
  bool operator==(const ToolResultItem&) const = default;
};
using Item = std::variant<MessageItem, ReasoningItem, ToolCallItem, ToolResultItem>;

}  // namespace caisson::model
