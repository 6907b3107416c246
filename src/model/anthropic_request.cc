#include <utility>

#include "base/base64.h"
#include "model/anthropic.h"
#include "model/server_json.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

constexpr std::uint64_t kUsualOutputTokens = 16'384;  // The API needs a limit.

Dict TextBlock(std::string text) {
  return Object({{"type", "text"}, {"text", std::move(text)}});
}

Dict BlockOf(const DataPart& data) {
  const bool is_pdf = data.media_type == "application/pdf";
  if (!IsImage(data) && !is_pdf) return TextBlock(Placeholder(data));
  const Dict source = data.url.empty() ? Object({{"type", "base64"},
                                                 {"media_type", JsonText(data.media_type)},
                                                 {"data", EncodeBase64(data.bytes)}})
                                       : Object({{"type", "url"}, {"url", JsonText(data.url)}});
  return Object({{"type", is_pdf ? "document" : "image"}, {"source", source}});
}

// The API refuses empty texts.
List BlocksOf(const std::vector<Part>& parts) {
  List blocks;
  for (const Part& part : parts) {
    if (const auto* data = std::get_if<DataPart>(&part)) {
      blocks.items.emplace_back(BlockOf(*data));
    } else if (std::string text = JoinedText({part});
               text.find_first_not_of(" \t\r\n") != std::string::npos) {
      blocks.items.emplace_back(TextBlock(std::move(text)));
    }
  }
  return blocks;
}

// The API allows only some characters in ids. Other APIs and clients may have chosen more.
std::string IdOf(std::string_view call_id) {
  std::string id(call_id);
  for (char& c : id) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!allowed) c = '_';
  }
  return id.empty() ? "_" : id;
}

// The API takes only objects.
Value InputOf(const std::string& arguments) {
  auto value = ParseJson(arguments.empty() ? "{}" : arguments);
  if (value && value->If<Dict>() != nullptr) return *std::move(value);
  return Object({{"malformed", JsonText(arguments)}});
}

// Collects messages. Consecutive blocks of one role become one message.
class Messages {
 public:
  explicit Messages(const ModelRequest& request) : system_(JsonText(request.instructions)) {
    for (const Item& item : request.items) {
      std::visit([this](const auto& each) { Put(each); }, item);
    }
    End();
  }

  List Take() { return std::move(list_); }
  const std::string& instructions() const { return system_; }

 private:
  void Add(std::string_view role, Value block) {
    if (role != role_) End();
    role_ = role;
    blocks_.items.push_back(std::move(block));
  }
  void End() {
    if (blocks_.items.empty()) return;
    list_.items.emplace_back(
        Object({{"role", std::string(role_)}, {"content", std::exchange(blocks_, {})}}));
  }

  void Put(const MessageItem& message) {
    if (message.role == Role::kDeveloper) {
      // There is no such role; instructions belong to the system.
      if (!system_.empty()) system_.append("\n\n");
      system_.append(JoinedText(message.parts));
      return;
    }
    for (Value& block : BlocksOf(message.parts).items) {
      Add(message.role == Role::kUser ? "user" : "assistant", std::move(block));
    }
  }

  void Put(const ReasoningItem& reasoning) {
    std::string_view rest = reasoning.encrypted;
    if (rest.starts_with(kAnthropicRedacted)) {
      rest.remove_prefix(kAnthropicRedacted.size());
      Add("assistant", Object({{"type", "redacted_thinking"}, {"data", JsonText(rest)}}));
    } else if (rest.starts_with(kAnthropicSignature)) {
      rest.remove_prefix(kAnthropicSignature.size());
      Add("assistant", Object({{"type", "thinking"},
                               {"thinking", JsonText(reasoning.text)},
                               {"signature", JsonText(rest)}}));
    }
  }

  void Put(const ToolCallItem& call) {
    Add("assistant", Object({{"type", "tool_use"},
                             {"id", IdOf(call.call_id)},
                             {"name", JsonText(call.name)},
                             {"input", InputOf(call.arguments)}}));
  }

  void Put(const ToolResultItem& result) {
    Dict block = Object({{"type", "tool_result"}, {"tool_use_id", IdOf(result.call_id)}});
    if (List content = BlocksOf(result.parts); !content.items.empty()) {
      Append(block, "content", std::move(content));
    }
    if (result.is_error) Append(block, "is_error", true);
    Add("user", std::move(block));
  }

  std::string system_;
  List list_;
  std::string_view role_;
  List blocks_;
};

Dict ChoiceOf(const ModelRequest& request) {
  Dict choice;
  switch (request.tool_choice.mode) {
    case ToolChoice::Mode::kAuto:
      choice = Object({{"type", "auto"}});
      break;
    case ToolChoice::Mode::kNone:
      return Object({{"type", "none"}});
    case ToolChoice::Mode::kRequired:
      choice = Object({{"type", "any"}});
      break;
    case ToolChoice::Mode::kNamed:
      choice = Object({{"type", "tool"}, {"name", JsonText(request.tool_choice.name)}});
      break;
  }
  if (request.parallel_tool_calls) {
    Append(choice, "disable_parallel_tool_use", !*request.parallel_tool_calls);
  }
  return choice;
}

}  // namespace

Dict AnthropicBody(const ModelRequest& request, const DialectSettings& settings) {
  Messages messages(request);
  const std::uint64_t most = request.max_output_tokens.value_or(kUsualOutputTokens);
  Dict body = Object({{"model", settings.model},
                      {"max_tokens", static_cast<std::int64_t>(most)},
                      {"messages", messages.Take()}});
  if (!messages.instructions().empty()) Append(body, "system", messages.instructions());
  if (!request.tools.empty()) {
    List tools;
    for (const ToolDeclaration& tool : request.tools) {
      tools.items.emplace_back(Object({{"name", JsonText(tool.name)},
                                       {"description", JsonText(tool.description)},
                                       {"input_schema", tool.input_schema}}));
    }
    Append(body, "tools", std::move(tools));
    Append(body, "tool_choice", ChoiceOf(request));
  }
  AppendSampling(body, request);
  if (settings.streams) Append(body, "stream", true);
  return body;
}

}  // namespace caisson::model
