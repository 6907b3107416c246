#include "protocol/responses/input_reader.h"

#include <array>
#include <map>
#include <utility>

#include "base/base64.h"
#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

using Items = std::vector<InputItem>;
using Parts = std::vector<model::Part>;

constexpr std::size_t kMaxReasonBytes = 4096;

struct DataUrl {
  std::string media_type;
  std::string bytes;
};

// "data:image/png;base64,...". Returns nullopt for any other text.
std::optional<DataUrl> ParseDataUrl(std::string_view url) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kEncoding = ";base64,";
  const std::size_t encoding = url.find(kEncoding);
  if (!url.starts_with(kScheme) || encoding == url.npos) return std::nullopt;
  auto bytes = DecodeBase64(url.substr(encoding + kEncoding.size()));
  if (!bytes) return std::nullopt;
  const std::string_view type = url.substr(kScheme.size(), encoding - kScheme.size());
  return DataUrl{.media_type = std::string(type.substr(0, type.find(';'))),
                 .bytes = *std::move(bytes)};
}

bool IsWebUrl(std::string_view url) {
  return url.starts_with("https://") || url.starts_with("http://");
}

std::string MediaTypeOfName(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTypes = {
      {{".pdf", "application/pdf"},
       {".txt", "text/plain"},
       {".csv", "text/csv"},
       {".md", "text/markdown"},
       {".json", "application/json"},
       {".png", "image/png"}}};
  for (const auto& [end, type] : kTypes) {
    if (name.ends_with(end)) return std::string(type);
  }
  return "application/octet-stream";
}

Result<model::Part> ReadImage(const FieldReader& fields) {
  TRY_ASSIGN(const std::string* url, fields.Text("image_url"));
  if (url == nullptr) {
    return fields.Refuse("image_url",
                         "An image needs 'image_url'; this server keeps no files, so "
                         "'file_id' is not supported.",
                         "unsupported_parameter");
  }
  if (IsWebUrl(*url)) return model::Part(model::DataPart{.media_type = "image/*", .url = *url});
  auto data = ParseDataUrl(*url);
  if (data && data->media_type.starts_with("image/")) {
    return model::Part(model::DataPart{.media_type = std::move(data->media_type),
                                       .bytes = std::move(data->bytes)});
  }
  return fields.Refuse("image_url",
                       "'image_url' must be an http or https URL, or "
                       "'data:image/…;base64,…'.");
}

Result<model::Part> ReadFile(const FieldReader& fields) {
  TRY_ASSIGN(std::string name, fields.TextOr("filename", ""));
  TRY_ASSIGN(const std::string* url, fields.Text("file_url"));
  if (url != nullptr && IsWebUrl(*url)) {
    return model::Part(model::DataPart{
        .media_type = MediaTypeOfName(name), .url = *url, .filename = std::move(name)});
  }
  TRY_ASSIGN(const std::string* text, fields.Text("file_data"));
  if (text == nullptr) {
    return fields.Refuse("file_data",
                         "A file needs 'file_data' or an http or https 'file_url'; "
                         "this server keeps no files, so 'file_id' is not supported.",
                         "unsupported_parameter");
  }
  auto data = ParseDataUrl(*text);
  if (!data) {
    auto bytes = DecodeBase64(*text);
    if (!bytes)
      return fields.Refuse("file_data",
                           "'file_data' must be Base64, with or without a data: prefix.");
    data = DataUrl{.media_type = MediaTypeOfName(name), .bytes = *std::move(bytes)};
  }
  if (data->media_type.starts_with("text/")) {
    return model::Part(model::TextPart{"[File: " + name + "]\n" + data->bytes});
  }
  return model::Part(model::DataPart{.media_type = std::move(data->media_type),
                                     .bytes = std::move(data->bytes),
                                     .filename = std::move(name)});
}

Result<model::Part> ReadPart(const Value& value, std::string place, ApiError& refusal) {
  TRY_ASSIGN(const FieldReader fields, FieldReader::Open(value, std::move(place), refusal));
  TRY_ASSIGN(const std::string type, fields.RequiredText("type"));
  if (type == "input_text" || type == "output_text" || type == "text" || type == "summary_text" ||
      type == "reasoning_text") {
    TRY_ASSIGN(std::string text, fields.RequiredText("text"));
    return model::Part(model::TextPart{std::move(text)});
  }
  if (type == "refusal") {
    TRY_ASSIGN(std::string text, fields.RequiredText("refusal"));
    return model::Part(model::RefusalPart{std::move(text)});
  }
  if (type == "input_image") return ReadImage(fields);
  if (type == "input_file") return ReadFile(fields);
  return fields.Refuse("type", "Unsupported content type '" + type + "'.");
}

// Content is a string or a list of parts.
Result<Parts> ReadParts(const FieldReader& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  if (value == nullptr) return Parts();
  if (const auto* text = value->If<std::string>()) return Parts{model::TextPart{*text}};
  TRY_ASSIGN(const std::vector<Value>* list, fields.Array(name, kMaxParts));
  Parts parts;
  for (std::size_t i = 0; i < list->size(); ++i) {
    TRY_ASSIGN(model::Part part,
               ReadPart((*list)[i], ElementPlace(fields.PlaceOf(name), i), fields.refusal()));
    parts.push_back(std::move(part));
  }
  return parts;
}

TurnItem Item(std::string_view prefix, decltype(TurnItem::content) content) {
  return {.id = NewWireId(prefix), .content = std::move(content)};
}

Result<InputItem> ReadMessage(const FieldReader& fields) {
  TRY_ASSIGN(const std::string role, fields.RequiredText("role"));
  model::MessageItem message;
  if (role == "assistant") {
    message.role = model::Role::kAssistant;
  } else if (role == "system" || role == "developer") {
    message.role = model::Role::kDeveloper;
  } else if (role != "user") {
    return fields.Refuse(
        "role", "'" + fields.PlaceOf("role") + "' must be user, assistant, system or developer.");
  }
  if (fields.Find("content") == nullptr) {
    return fields.Refuse("content",
                         "Missing required parameter: '" + fields.PlaceOf("content") + "'.",
                         "missing_required_parameter");
  }
  TRY_ASSIGN(message.parts, ReadParts(fields, "content"));
  return InputItem(Item("msg_", std::move(message)));
}

Result<std::string> ReadTexts(const FieldReader& fields, std::string_view name) {
  TRY_ASSIGN(const Parts parts, ReadParts(fields, name));
  std::string text;
  for (const model::Part& part : parts) {
    if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
  }
  return text;
}

Result<InputItem> ReadReasoning(const FieldReader& fields) {
  model::ReasoningItem item;
  TRY_ASSIGN(item.text, ReadTexts(fields, "summary"));
  if (item.text.empty()) {
    TRY_ASSIGN(item.text, ReadTexts(fields, "content"));
  }
  TRY_ASSIGN(item.encrypted, fields.TextOr("encrypted_content", ""));
  return InputItem(Item("rs_", std::move(item)));
}

Result<InputItem> ReadFunctionCall(const FieldReader& fields) {
  ClientCall call;
  TRY_ASSIGN(call.call_id, fields.RequiredText("call_id"));
  TRY_ASSIGN(call.tool, fields.RequiredText("name"));
  TRY_ASSIGN(call.arguments, fields.RequiredText("arguments"));
  return InputItem(Item("fc_", std::move(call)));
}

Result<InputItem> ReadFunctionOutput(const FieldReader& fields) {
  ClientResult result;
  TRY_ASSIGN(result.call_id, fields.RequiredText("call_id"));
  if (fields.Find("output") == nullptr) {
    return fields.Refuse("output",
                         "Missing required parameter: '" + fields.PlaceOf("output") + "'.",
                         "missing_required_parameter");
  }
  TRY_ASSIGN(result.parts, ReadParts(fields, "output"));
  return InputItem(Item("fco_", std::move(result)));
}

// A call that the client says the server has made.
Result<InputItem> ReadToolCall(const FieldReader& fields) {
  HostToolCall call{.call_id = NewWireId("call_"), .tool = {}, .arguments = {}, .run = RunId("")};
  TRY_ASSIGN(call.tool, fields.RequiredText("name"));
  TRY_ASSIGN(call.arguments, fields.TextOr("arguments", "{}"));
  TRY_ASSIGN(call.output, fields.TextOr("output", ""));
  const Value* error = fields.Find("error");
  call.is_error = error != nullptr;
  if (const auto* text = error == nullptr ? nullptr : error->If<std::string>()) call.output = *text;
  call.progress = call.is_error ? CallProgress::kFailed : CallProgress::kCompleted;
  return InputItem(Item("mcp_", std::move(call)));
}

Result<InputItem> ReadCodeCall(const FieldReader& fields) {
  CodeCall call{.call_id = NewWireId("call_"),
                .code = {},
                .run = RunId(""),
                .progress = CallProgress::kCompleted};
  TRY_ASSIGN(call.code, fields.TextOr("code", ""));
  TRY_ASSIGN(const std::vector<Value>* outputs, fields.Array("outputs", kMaxParts));
  for (std::size_t i = 0; outputs != nullptr && i < outputs->size(); ++i) {
    TRY_ASSIGN(const FieldReader output,
               FieldReader::Open((*outputs)[i], ElementPlace(fields.PlaceOf("outputs"), i),
                                 fields.refusal()));
    TRY_ASSIGN(const std::string logs, output.TextOr("logs", ""));
    call.logs += logs;
  }
  return InputItem(Item("ci_", std::move(call)));
}

// The name and arguments are not read: the stored ones count (I5).
Result<InputItem> ReadApprovalRequest(const FieldReader& fields) {
  TRY_ASSIGN(const std::string id, fields.RequiredId("id"));
  const auto approval = ParseApprovalWireId(id);
  if (!approval) return fields.Refuse("id", "'" + id + "' is no id of an approval request.");
  return InputItem(
      Item("ask_",
           ApprovalRequest{.approval = *approval, .call_item = {}, .tool = {}, .arguments = {}}));
}

Result<InputItem> ReadApprovalResponse(const FieldReader& fields) {
  TRY_ASSIGN(const std::string id, fields.RequiredId("approval_request_id"));
  const auto approval = ParseApprovalWireId(id);
  if (!approval)
    return fields.Refuse("approval_request_id", "Approval request with id '" + id + "' not found.");
  TRY_ASSIGN(const std::optional<bool> approve, fields.Flag("approve"));
  if (!approve) {
    return fields.Refuse("approve",
                         "Missing required parameter: '" + fields.PlaceOf("approve") + "'.",
                         "missing_required_parameter");
  }
  ApprovalAnswer answer{.approval = *approval, .approve = *approve};
  TRY_ASSIGN(answer.reason, fields.TextOr("reason", ""));
  if (answer.reason.size() > kMaxReasonBytes) {
    return fields.Refuse("reason", "'reason' is longer than 4096 bytes.");
  }
  return InputItem(Item("mcpa_", std::move(answer)));
}

using Read = Result<InputItem> (*)(const FieldReader& fields);
constexpr std::array<std::pair<std::string_view, Read>, 8> kReaders = {
    {{"message", ReadMessage},
     {"function_call", ReadFunctionCall},
     {"function_call_output", ReadFunctionOutput},
     {"reasoning", ReadReasoning},
     {"mcp_call", ReadToolCall},
     {"code_interpreter_call", ReadCodeCall},
     {"mcp_approval_request", ReadApprovalRequest},
     {"mcp_approval_response", ReadApprovalResponse}}};

// Adds nothing for an item that says nothing to the server.
Result<void> ReadItem(const Value& value, std::string place, ApiError& refusal, Items& items) {
  TRY_ASSIGN(const FieldReader fields, FieldReader::Open(value, std::move(place), refusal));
  const bool has_role = fields.Find("role") != nullptr;
  TRY_ASSIGN(const std::string type,
             fields.TextOr("type", has_role ? "message" : "item_reference"));
  if (type == "mcp_list_tools") return {};
  if (type == "item_reference") {
    TRY_ASSIGN(std::string id, fields.RequiredId("id"));
    items.emplace_back(ItemReference{std::move(id)});
    return {};
  }
  for (const auto& [name, read] : kReaders) {
    if (name != type) continue;
    TRY_ASSIGN(InputItem item, read(fields));
    items.push_back(std::move(item));
    return {};
  }
  return fields.Refuse("type", "Unsupported item type '" + type + "'.");
}

// Two decisions about one approval leave open which of them counts.
Result<void> CheckAnswers(const Items& items, std::string_view place, ApiError& refusal) {
  std::map<ApprovalId, bool> answers;
  for (const InputItem& item : items) {
    const auto* turn_item = std::get_if<TurnItem>(&item);
    if (turn_item == nullptr) continue;
    const auto* answer = std::get_if<ApprovalAnswer>(&turn_item->content);
    if (answer == nullptr) continue;
    const auto [entry, is_new] = answers.emplace(answer->approval, answer->approve);
    if (is_new || entry->second == answer->approve) continue;
    refusal = InvalidValue(
        place, "The input both approves and denies '" + ApprovalWireId(answer->approval) + "'.");
    return Error(ErrorCode::kInvalidArgument, refusal.message);
  }
  return {};
}

}  // namespace

Result<std::vector<InputItem>> ReadInput(const Value& value, std::string_view place,
                                         ApiError& refusal) {
  if (const auto* text = value.If<std::string>()) {
    return Items{Item("msg_", model::MessageItem{.parts = {model::TextPart{*text}}})};
  }
  const auto* list = value.If<List>();
  if (list == nullptr || list->items.size() > kMaxInputItems) {
    refusal = InvalidValue(place, "'" + std::string(place) +
                                      "' must be a string or an array of at most " +
                                      std::to_string(kMaxInputItems) + " items.");
    return Error(ErrorCode::kInvalidArgument, refusal.message);
  }
  Items items;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    TRY(ReadItem(list->items[i], ElementPlace(place, i), refusal, items));
  }
  TRY(CheckAnswers(items, place, refusal));
  return items;
}

}  // namespace caisson::responses
