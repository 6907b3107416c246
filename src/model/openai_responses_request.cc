#include <algorithm>
#include <array>
#include <utility>

#include "model/openai_responses.h"
#include "model/server_json.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

Dict TextOf(std::string_view text) {
  return Object({{"type", "input_text"}, {"text", JsonText(text)}});
}

Dict PartOf(const DataPart& data) {
  if (IsImage(data)) return Object({{"type", "input_image"}, {"image_url", DataUrl(data)}});
  if (!data.url.empty()) return Object({{"type", "input_file"}, {"file_url", JsonText(data.url)}});
  const std::string name = data.filename.empty() ? "file" : JsonText(data.filename);
  return Object({{"type", "input_file"}, {"filename", name}, {"file_data", DataUrl(data)}});
}

List ContentOf(const std::vector<Part>& parts) {
  List content;
  for (const Part& part : parts) {
    const auto* data = std::get_if<DataPart>(&part);
    content.items.emplace_back(data == nullptr ? TextOf(JoinedText({part})) : PartOf(*data));
  }
  return content;
}

bool HasData(const std::vector<Part>& parts) {
  return std::ranges::any_of(
      parts, [](const Part& part) { return std::holds_alternative<DataPart>(part); });
}

Value InputOf(const MessageItem& message) {
  if (message.role == Role::kAssistant) {
    return Object({{"role", "assistant"}, {"content", JoinedText(message.parts)}});
  }
  return Object({{"role", message.role == Role::kUser ? "user" : "developer"},
                 {"content", ContentOf(message.parts)}});
}

// Returns None for reasoning that came from another API, or was not encrypted.
Value InputOf(const ReasoningItem& reasoning) {
  std::string_view rest = reasoning.encrypted;
  if (!rest.starts_with(kResponsesReasoning)) return Value();
  rest.remove_prefix(kResponsesReasoning.size());
  const std::size_t colon = rest.find(':');
  if (colon == rest.npos) return Value();
  return Object({{"type", "reasoning"},
                 {"id", JsonText(rest.substr(0, colon))},
                 {"summary", List{}},
                 {"encrypted_content", JsonText(rest.substr(colon + 1))}});
}

Value InputOf(const ToolCallItem& call) {
  return Object({{"type", "function_call"},
                 {"call_id", JsonText(call.call_id)},
                 {"name", JsonText(call.name)},
                 {"arguments", call.arguments.empty() ? "{}" : JsonText(call.arguments)}});
}

Value InputOf(const ToolResultItem& result) {
  Value output = JoinedText(result.parts);
  if (HasData(result.parts)) output = ContentOf(result.parts);
  return Object({{"type", "function_call_output"},
                 {"call_id", JsonText(result.call_id)},
                 {"output", std::move(output)}});
}

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
  return Object({{"type", "function"}, {"name", JsonText(choice.name)}});
}

void AppendTools(Dict& body, const ModelRequest& request) {
  if (request.tools.empty()) return;
  List tools;
  for (const ToolDeclaration& tool : request.tools) {
    tools.items.emplace_back(Object({{"type", "function"},
                                     {"name", JsonText(tool.name)},
                                     {"description", JsonText(tool.description)},
                                     {"parameters", tool.input_schema},
                                     {"strict", false}}));
  }
  Append(body, "tools", std::move(tools));
  Append(body, "tool_choice", ChoiceOf(request.tool_choice));
  if (request.parallel_tool_calls) {
    Append(body, "parallel_tool_calls", *request.parallel_tool_calls);
  }
}

// OpenAI refuses to encrypt reasoning for models that do not reason.
bool MayReason(std::string_view model) {
  constexpr std::array<std::string_view, 3> kWithout = {"gpt-3", "gpt-4", "chatgpt-4"};
  return std::ranges::none_of(kWithout, [&](auto name) { return model.starts_with(name); });
}

}  // namespace

Dict ResponsesBody(const ModelRequest& request, const DialectSettings& settings) {
  List input;
  for (const Item& item : request.items) {
    Value each = std::visit([](const auto& one) { return InputOf(one); }, item);
    if (!each.is_none()) input.items.push_back(std::move(each));
  }
  Dict body = Object({{"model", settings.model}, {"input", std::move(input)}, {"store", false}});
  if (!request.instructions.empty()) {
    Append(body, "instructions", JsonText(request.instructions));
  }
  if (MayReason(settings.model)) {
    Append(body, "include", List{{std::string("reasoning.encrypted_content")}});
  }
  AppendTools(body, request);
  AppendSampling(body, request);
  if (request.max_output_tokens) {
    Append(body, "max_output_tokens", static_cast<std::int64_t>(*request.max_output_tokens));
  }
  if (settings.streams) Append(body, "stream", true);
  return body;
}

}  // namespace caisson::model
