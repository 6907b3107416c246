#include "protocol/responses/item_json.h"

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/json_object.h"
#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

std::string_view Name(ItemStatus status) {
  switch (status) {
    case ItemStatus::kInProgress:
      return "in_progress";
    case ItemStatus::kCompleted:
      return "completed";
    case ItemStatus::kIncomplete:
      break;
  }
  return "incomplete";
}

std::string_view Name(model::Role role) {
  switch (role) {
    case model::Role::kUser:
      return "user";
    case model::Role::kAssistant:
      return "assistant";
    case model::Role::kDeveloper:
      break;
  }
  return "developer";
}

std::string DataJson(const model::DataPart& data) {
  const std::string url = data.url.empty()
                              ? "data:" + data.media_type + ";base64," + EncodeBase64(data.bytes)
                              : data.url;
  JsonObject json;
  if (data.media_type.starts_with("image/")) {
    return json.Text("type", "input_image").Text("image_url", url).Text("detail", "auto").Finish();
  }
  json.Text("type", "input_file").Text("filename", data.filename);
  return json.Text(data.url.empty() ? "file_data" : "file_url", url).Finish();
}

std::string PartsJson(const std::vector<model::Part>& parts, model::Role role) {
  std::string array = "[";
  for (const model::Part& part : parts) AppendElement(array, PartJson(part, role));
  return array + "]";
}

// Writes the JSON of one item.
class ItemWriter {
 public:
  ItemWriter(const TurnItem& item, ItemStatus status, const ImageUrls& images)
      : status_(item.is_cut && status == ItemStatus::kCompleted ? ItemStatus::kIncomplete : status),
        images_(images) {
    json_.Text("id", WireId(item));
  }

  std::string operator()(const model::MessageItem& message) {
    const bool begins = status_ == ItemStatus::kInProgress;
    return Begin("message")
        .Text("role", Name(message.role))
        .Put("content", begins ? "[]" : PartsJson(message.parts, message.role))
        .Finish();
  }

  std::string operator()(const model::ReasoningItem& reasoning) {
    const bool empty = status_ == ItemStatus::kInProgress || reasoning.text.empty();
    const std::string part =
        JsonObject().Text("type", "summary_text").Text("text", reasoning.text).Finish();
    Begin("reasoning").Put("summary", empty ? "[]" : "[" + part + "]");
    if (status_ != ItemStatus::kInProgress && !reasoning.encrypted.empty()) {
      json_.Text("encrypted_content", reasoning.encrypted);
    }
    return json_.Finish();
  }

  std::string operator()(const CodeCall& call) {
    json_.Text("type", "code_interpreter_call")
        .Text("status", StatusOf(call.progress))
        .Text("code", status_ == ItemStatus::kInProgress ? "" : call.code)
        .Text("container_id", call.run.str().empty() ? "none" : call.run.str());
    return json_.Put("outputs", status_ == ItemStatus::kInProgress ? "[]" : Outputs(call)).Finish();
  }

  std::string operator()(const HostToolCall& call) {
    const bool begins = status_ == ItemStatus::kInProgress;
    json_.Text("type", "mcp_call")
        .Text("status", StatusOf(call.is_error ? CallProgress::kFailed : call.progress))
        .Text("server_label", kServerLabel)
        .Text("name", call.tool)
        .Text("arguments", begins ? "" : call.arguments);
    json_.Put("output", begins || call.is_error ? "null" : JsonQuoted(call.output));
    json_.Put("error", begins || !call.is_error ? "null" : JsonQuoted(call.output));
    return json_
        .Put("approval_request_id",
             call.approval ? JsonQuoted(ApprovalWireId(*call.approval)) : "null")
        .Finish();
  }

  std::string operator()(const ClientCall& call) {
    return Begin("function_call")
        .Text("call_id", call.call_id)
        .Text("name", call.tool)
        .Text("arguments", status_ == ItemStatus::kInProgress ? "" : call.arguments)
        .Finish();
  }

  std::string operator()(const ClientResult& result) {
    Begin("function_call_output").Text("call_id", result.call_id);
    if (result.parts.size() == 1) {
      if (const auto* text = std::get_if<model::TextPart>(&result.parts[0])) {
        return json_.Text("output", text->text).Finish();
      }
    }
    return json_.Put("output", PartsJson(result.parts, model::Role::kUser)).Finish();
  }

  std::string operator()(const ApprovalRequest& request) {
    return json_.Text("type", "mcp_approval_request")
        .Text("server_label", kServerLabel)
        .Text("name", request.tool)
        .Text("arguments", request.arguments)
        .Finish();
  }

  std::string operator()(const ApprovalAnswer& answer) {
    json_.Text("type", "mcp_approval_response")
        .Text("approval_request_id", ApprovalWireId(answer.approval))
        .Flag("approve", answer.approve);
    return json_.Put("reason", answer.reason.empty() ? "null" : JsonQuoted(answer.reason)).Finish();
  }

 private:
  JsonObject& Begin(std::string_view type) {
    return json_.Text("type", type).Text("status", Name(status_));
  }

  std::string_view StatusOf(CallProgress progress) const {
    if (status_ != ItemStatus::kCompleted) return Name(status_);
    switch (progress) {
      case CallProgress::kRunning:
      case CallProgress::kWaiting:
        return "in_progress";
      case CallProgress::kFailed:
        return "failed";
      case CallProgress::kCompleted:
        break;
    }
    return "completed";
  }

  // Images are shown; other files are named with the path at which their owner gets them.
  std::string Outputs(const CodeCall& call) const {
    std::string array = "[";
    const auto logs = [&](std::string_view text) {
      AppendElement(array, JsonObject().Text("type", "logs").Text("logs", text).Finish());
    };
    if (!call.logs.empty()) logs(call.logs);
    std::string names;
    for (const TurnFile& file : call.files) {
      const auto image = images_.find({call.run, file.number});
      if (image != images_.end()) {
        AppendElement(array,
                      JsonObject().Text("type", "image").Text("url", image->second).Finish());
      } else {
        names.append(file.path + " (" + std::to_string(file.bytes) +
                     " bytes): " + FilePath(call.run, file.number) + "\n");
      }
    }
    if (!names.empty()) logs(names);
    return array + "]";
  }

  const ItemStatus status_;
  const ImageUrls& images_;
  JsonObject json_;
};

}  // namespace

std::string PartJson(const model::Part& part, model::Role role) {
  if (const auto* text = std::get_if<model::TextPart>(&part)) {
    if (role != model::Role::kAssistant) {
      return JsonObject().Text("type", "input_text").Text("text", text->text).Finish();
    }
    return JsonObject()
        .Text("type", "output_text")
        .Text("text", text->text)
        .Put("annotations", "[]")
        .Put("logprobs", "[]")
        .Finish();
  }
  if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) {
    return JsonObject().Text("type", "refusal").Text("refusal", refusal->text).Finish();
  }
  return DataJson(std::get<model::DataPart>(part));
}

std::string WireId(const TurnItem& item) {
  const auto* request = std::get_if<ApprovalRequest>(&item.content);
  return request == nullptr ? item.id : ApprovalWireId(request->approval);
}

bool IsShown(const TurnItem& item) {
  const auto* call = std::get_if<HostToolCall>(&item.content);
  return call == nullptr || call->progress != CallProgress::kWaiting;
}

bool IsImage(const TurnFile& file) {
  static constexpr std::array<std::string_view, 4> kTypes = {"image/png", "image/jpeg", "image/gif",
                                                             "image/webp"};
  return std::ranges::find(kTypes, file.media_type) != kTypes.end();
}

std::string FilePath(const RunId& run, std::uint32_t number) {
  return "/v1/runs/" + run.str() + "/files/" + std::to_string(number);
}

std::string ItemJson(const TurnItem& item, ItemStatus status, const ImageUrls& images) {
  return std::visit(ItemWriter(item, status, images), item.content);
}

}  // namespace caisson::responses
