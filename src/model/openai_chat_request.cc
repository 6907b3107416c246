#include <utility>

#include "model/openai_chat.h"
#include "model/server_json.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

Value PartOf(const DataPart& data) {
  if (IsImage(data)) {
    return Object({{"type", "image_url"}, {"image_url", Object({{"url", DataUrl(data)}})}});
  }
  if (data.bytes.empty()) return Object({{"type", "text"}, {"text", Placeholder(data)}});
  const std::string name = data.filename.empty() ? "file" : JsonText(data.filename);
  return Object(
      {{"type", "file"}, {"file", Object({{"filename", name}, {"file_data", DataUrl(data)}})}});
}

// Returns the content of a message: a string, which every server reads, or a list of parts.
Value ContentOf(const std::vector<Part>& parts) {
  List list;
  bool has_data = false;
  for (const Part& part : parts) {
    if (const auto* data = std::get_if<DataPart>(&part)) {
      has_data = true;
      list.items.push_back(PartOf(*data));
    } else {
      list.items.emplace_back(Object({{"type", "text"}, {"text", JoinedText({part})}}));
    }
  }
  if (has_data) return list;
  return JoinedText(parts);
}

// Writes the messages. Consecutive items of the assistant become one message.
class Messages {
 public:
  explicit Messages(const ModelRequest& request) {
    if (!request.instructions.empty()) Add("system", JsonText(request.instructions));
    for (const Item& item : request.items) {
      std::visit([this](const auto& each) { Put(each); }, item);
    }
    EndAssistant();
    ShowData();
  }

  List Take() { return std::move(list_); }

 private:
  void Add(std::string_view role, Value content) {
    list_.items.emplace_back(
        Object({{"role", std::string(role)}, {"content", std::move(content)}}));
  }

  void Put(const MessageItem& message) {
    ShowData();
    if (message.role == Role::kAssistant) {
      if (!calls_.items.empty()) EndAssistant();
      if (!text_.empty()) text_.push_back('\n');
      text_.append(JoinedText(message.parts));
      has_assistant_ = true;
      return;
    }
    EndAssistant();
    // Most servers know no role "developer".
    Add(message.role == Role::kUser ? "user" : "system", ContentOf(message.parts));
  }

  void Put(const ReasoningItem&) {}  // The API takes none back.

  void Put(const ToolCallItem& call) {
    ShowData();
    has_assistant_ = true;
    const std::string arguments = call.arguments.empty() ? "{}" : JsonText(call.arguments);
    calls_.items.emplace_back(
        Object({{"id", JsonText(call.call_id)},
                {"type", "function"},
                {"function", Object({{"name", JsonText(call.name)}, {"arguments", arguments}})}}));
  }

  void Put(const ToolResultItem& result) {
    EndAssistant();
    list_.items.emplace_back(Object({{"role", "tool"},
                                     {"tool_call_id", JsonText(result.call_id)},
                                     {"content", JoinedText(result.parts)}}));
    // Results can only have text. Images follow in a message of the user after all results.
    for (const Part& part : result.parts) {
      if (const auto* data = std::get_if<DataPart>(&part); data != nullptr && IsImage(*data)) {
        data_.push_back(*data);
      }
    }
  }

  void EndAssistant() {
    if (!std::exchange(has_assistant_, false)) return;
    Dict message = Object({{"role", "assistant"}});
    Append(message, "content", text_.empty() ? Value() : Value(std::exchange(text_, {})));
    if (!calls_.items.empty()) Append(message, "tool_calls", std::exchange(calls_, {}));
    list_.items.emplace_back(std::move(message));
  }

  void ShowData() {
    if (!data_.empty()) Add("user", ContentOf(std::exchange(data_, {})));
  }

  List list_;
  bool has_assistant_ = false;
  std::string text_;
  List calls_;
  std::vector<Part> data_;
};

Value ChoiceOf(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::kAuto:
      return "auto";
    case ToolChoice::Mode::kNone:
      return "none";
    case ToolChoice::Mode::kRequired:
      return "required";
    case ToolChoice::Mode::kNamed:
      break;
  }
  return Object({{"type", "function"}, {"function", Object({{"name", JsonText(choice.name)}})}});
}

void AppendTools(Dict& body, const ModelRequest& request) {
  if (request.tools.empty()) return;
  List tools;
  for (const ToolDeclaration& tool : request.tools) {
    tools.items.emplace_back(
        Object({{"type", "function"},
                {"function", Object({{"name", JsonText(tool.name)},
                                     {"description", JsonText(tool.description)},
                                     {"parameters", tool.input_schema}})}}));
  }
  Append(body, "tools", std::move(tools));
  Append(body, "tool_choice", ChoiceOf(request.tool_choice));
  if (request.parallel_tool_calls) {
    Append(body, "parallel_tool_calls", *request.parallel_tool_calls);
  }
}

}  // namespace

Dict ChatBody(const ModelRequest& request, const DialectSettings& settings) {
  Dict body = Object({{"model", settings.model}, {"messages", Messages(request).Take()}});
  AppendTools(body, request);
  AppendSampling(body, request);
  if (request.max_output_tokens) {
    // OpenAI's newer models refuse the name that other servers know.
    Append(body, settings.is_openai ? "max_completion_tokens" : "max_tokens",
           static_cast<std::int64_t>(*request.max_output_tokens));
  }
  if (settings.streams) {
    Append(body, "stream", true);
    Append(body, "stream_options", Object({{"include_usage", true}}));
  }
  return body;
}

}  // namespace caisson::model
