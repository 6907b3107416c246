#include "protocol/agui/run_input.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/base64.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

constexpr std::size_t kMaxToolNameBytes = 64;

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

const Value* Field(const Dict& object, std::string_view name) {
  const Value* value = object.Find(name);
  return value == nullptr || value->is_none() ? nullptr : value;
}

Result<std::string> Text(const Value* value, const std::string& name) {
  const auto* text = value == nullptr ? nullptr : value->If<std::string>();
  if (text == nullptr) return Bad("\"" + name + "\" must be a string");
  return *text;
}

// Ids become parts of stored keys and of events.
Result<std::string> Id(const Value* value, const std::string& name) {
  TRY_ASSIGN(std::string id, Text(value, name));
  const bool printable = std::ranges::none_of(
      id, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (id.empty() || id.size() > kMaxIdBytes || !printable) {
    return Bad("\"" + name + "\" must have 1 to " + std::to_string(kMaxIdBytes) +
               " bytes without control characters");
  }
  return id;
}

Result<const List*> Items(const Value* value, const std::string& name, std::size_t most) {
  static const List kNone;
  if (value == nullptr) return &kNone;
  const auto* list = value->If<List>();
  if (list == nullptr) return Bad("\"" + name + "\" must be a list");
  if (list->items.size() > most) {
    return Bad("\"" + name + "\" can have " + std::to_string(most) + " entries");
  }
  return list;
}

Result<model::Part> DataPartOf(const Dict& part) {
  // Before 1.0 the fields of the source were the part's own.
  const auto* nested = FindAs<Dict>(part, "source");
  const Dict& source = nested == nullptr ? part : *nested;
  const Value* type = FindField(source, "mimeType", "mime_type");
  model::DataPart data;
  if (type != nullptr) {
    TRY_ASSIGN(data.media_type, Text(type, "mimeType"));
  }
  if (const Value* name = Field(part, "filename")) {
    TRY_ASSIGN(data.filename, Text(name, "filename"));
  }
  const auto* kind = FindAs<std::string>(source, "type");
  const bool is_url = kind != nullptr && *kind == "url";
  const Value* value = Field(source, "value");
  if (value == nullptr) value = Field(source, is_url ? "url" : "data");
  TRY_ASSIGN(const std::string text, Text(value, "source.value"));
  if (is_url) {
    if (!text.starts_with("https://") && !text.starts_with("http://")) {
      return Bad("the URL of a part must begin with https:// or http://");
    }
    data.url = text;
    return model::Part(std::move(data));
  }
  if (kind != nullptr && *kind != "data" && *kind != "binary") {
    return Bad("the source of a part must be of type \"data\" or \"url\"");
  }
  auto bytes = DecodeBase64(text);
  if (!bytes) return Bad("the data of a part must be base64");
  data.bytes = *std::move(bytes);
  return model::Part(std::move(data));
}

Result<model::Part> PartOf(const Value& value) {
  const auto* part = value.If<Dict>();
  const auto* type = part == nullptr ? nullptr : FindAs<std::string>(*part, "type");
  if (type == nullptr) return Bad("a part of \"content\" must be an object with a \"type\"");
  if (*type != "text") return DataPartOf(*part);
  TRY_ASSIGN(std::string text, Text(Field(*part, "text"), "text"));
  return model::Part(model::TextPart{std::move(text)});
}

Result<std::vector<model::Part>> PartsOf(const Value& content) {
  std::vector<model::Part> parts;
  if (const auto* text = content.If<std::string>()) {
    parts.emplace_back(model::TextPart{*text});
    return parts;
  }
  const auto* list = content.If<List>();
  if (list == nullptr) return Bad("\"content\" must be a string or a list of parts");
  for (const Value& item : list->items) {
    TRY_ASSIGN(model::Part part, PartOf(item));
    parts.push_back(std::move(part));
  }
  return parts;
}

MessageRole RoleOf(std::string_view role) {
  if (role == "user") return MessageRole::kUser;
  if (role == "tool") return MessageRole::kTool;
  if (role == "assistant") return MessageRole::kAssistant;
  if (role == "system" || role == "developer") return MessageRole::kInstructions;
  return MessageRole::kOther;
}

Result<InputMessage> MessageOf(const Value& value) {
  const auto* object = value.If<Dict>();
  if (object == nullptr) return Bad("an entry of \"messages\" must be an object");
  InputMessage message;
  TRY_ASSIGN(message.id, Id(Field(*object, "id"), "messages.id"));
  TRY_ASSIGN(const std::string role, Text(Field(*object, "role"), "messages.role"));
  message.role = RoleOf(role);
  if (message.role == MessageRole::kAssistant || message.role == MessageRole::kOther) {
    return message;  // What they say is stored already, or is not taken.
  }
  const Value* content = Field(*object, "content");
  if (content == nullptr) return Bad("a message needs \"content\"");
  message.content = *content;
  TRY_ASSIGN(message.parts, PartsOf(*content));
  if (message.role != MessageRole::kTool) return message;
  TRY_ASSIGN(message.tool_call_id,
             Id(FindField(*object, "toolCallId", "tool_call_id"), "messages.toolCallId"));
  message.is_error = Field(*object, "error") != nullptr;
  return message;
}

Result<model::ToolDeclaration> ToolOf(const Value& value) {
  const auto* object = value.If<Dict>();
  if (object == nullptr) return Bad("an entry of \"tools\" must be an object");
  model::ToolDeclaration tool;
  TRY_ASSIGN(tool.name, Text(Field(*object, "name"), "tools.name"));
  const bool plain = std::ranges::all_of(tool.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (tool.name.empty() || tool.name.size() > kMaxToolNameBytes || !plain) {
    return Bad("the name of a tool must have 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
  }
  if (const Value* description = Field(*object, "description")) {
    TRY_ASSIGN(tool.description, Text(description, "tools.description"));
  }
  const Value* schema = Field(*object, "parameters");
  if (schema == nullptr) {
    tool.input_schema = Object({{"type", "object"}});
  } else if (schema->If<Dict>() != nullptr) {
    tool.input_schema = *schema;
  } else {
    return Bad("\"parameters\" of tool " + tool.name + " must be a JSON Schema");
  }
  return tool;
}

Result<ContextEntry> ContextOf(const Value& value) {
  const auto* object = value.If<Dict>();
  if (object == nullptr) return Bad("an entry of \"context\" must be an object");
  ContextEntry entry;
  TRY_ASSIGN(entry.description, Text(Field(*object, "description"), "context.description"));
  TRY_ASSIGN(entry.value, Text(Field(*object, "value"), "context.value"));
  return entry;
}

// Some clients send it in the forwarded properties.
std::optional<Value> ResumeOf(const Dict& input) {
  if (const Value* resume = Field(input, "resume")) return *resume;
  const Value* forwarded = FindField(input, "forwardedProps", "forwarded_props");
  const auto* props = forwarded == nullptr ? nullptr : forwarded->If<Dict>();
  if (props == nullptr) return std::nullopt;
  if (const auto* command = FindAs<Dict>(*props, "command")) {
    if (const Value* resume = Field(*command, "resume")) return *resume;
  }
  const Value* resume = Field(*props, "resume");
  return resume == nullptr ? std::nullopt : std::optional(*resume);
}

Result<void> ReadLists(const Dict& object, RunInput& input) {
  TRY_ASSIGN(const List* const messages,
             Items(Field(object, "messages"), "messages", kMaxMessages));
  for (const Value& item : messages->items) {
    TRY_ASSIGN(InputMessage message, MessageOf(item));
    input.messages.push_back(std::move(message));
  }
  TRY_ASSIGN(const List* const tools, Items(Field(object, "tools"), "tools", kMaxTools));
  std::set<std::string> names;
  for (const Value& item : tools->items) {
    TRY_ASSIGN(model::ToolDeclaration tool, ToolOf(item));
    if (!names.insert(tool.name).second) return Bad("there are two tools " + tool.name);
    input.tools.push_back(std::move(tool));
  }
  TRY_ASSIGN(const List* const context, Items(Field(object, "context"), "context", kMaxContext));
  for (const Value& item : context->items) {
    TRY_ASSIGN(ContextEntry entry, ContextOf(item));
    input.context.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

const Value* FindField(const Dict& object, std::string_view camel, std::string_view snake) {
  const Value* value = Field(object, camel);
  return value == nullptr ? Field(object, snake) : value;
}

Result<RunInput> ParseRunInput(std::string_view body) {
  auto value = ParseJson(body);
  if (!value) return Bad("the body is not JSON: " + value.error().message());
  const auto* object = value->If<Dict>();
  if (object == nullptr) return Bad("the body must be a JSON object");
  RunInput input;
  TRY_ASSIGN(input.thread_id, Id(FindField(*object, "threadId", "thread_id"), "threadId"));
  TRY_ASSIGN(input.run_id, Id(FindField(*object, "runId", "run_id"), "runId"));
  if (object->Find("messages") == nullptr) return Bad("\"messages\" is missing");
  if (const Value* state = Field(*object, "state")) {
    if (DecodedBytes(*state) > kMaxStateBytes) {
      return Bad("\"state\" can take " + std::to_string(kMaxStateBytes) + " bytes of memory");
    }
    input.state = *state;
  }
  TRY(ReadLists(*object, input));
  input.resume = ResumeOf(*object);
  return input;
}

}  // namespace caisson::agui
