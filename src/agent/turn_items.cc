#include "agent/turn_items.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "engine/outcome.h"
#include "wire/fields.h"

namespace caisson {
namespace {

// Indexes of TurnItem::content, in the store. Never renumbered.
enum Kind : std::int64_t {
  kMessage = 0,
  kReasoning = 1,
  kCode = 2,
  kTool = 3,
  kClient = 4,
  kClientResult = 5,
  kRequest = 6,
  kAnswer = 7,
};

constexpr std::string_view kWhat = "item of a turn";

// Texts are stored as bytes, because nobody has checked that all of them are UTF-8.
void Put(Dict& dict, std::string name, const std::string& text) {
  if (!text.empty()) dict.items.emplace_back(std::move(name), Bytes{text});
}
void PutNumber(Dict& dict, std::string name, std::int64_t number) {
  if (number != 0) dict.items.emplace_back(std::move(name), number);
}

class ItemFields {
 public:
  explicit ItemFields(const Dict& dict) : fields_(dict) {}
  std::string Text(std::string_view name) {
    auto bytes = fields_.GetOptional<Bytes>(name);
    return bytes ? std::move(bytes->data) : std::string();
  }
  std::int64_t Number(std::string_view name) {
    return fields_.GetOptional<std::int64_t>(name).value_or(0);
  }
  bool Flag(std::string_view name) { return Number(name) != 0; }
  List Items(std::string_view name) { return fields_.GetOptional<List>(name).value_or(List{}); }
  CallProgress Progress() {
    const std::int64_t number = Number("progress");
    if (number >= 0 && number <= static_cast<std::int64_t>(CallProgress::kFailed)) {
      return static_cast<CallProgress>(number);
    }
    return CallProgress::kFailed;
  }
  bool good() const { return fields_.good(); }

 private:
  Fields fields_;
};

Value PartToValue(const model::Part& part) {
  Dict dict;
  PutNumber(dict, "kind", static_cast<std::int64_t>(part.index()));
  if (const auto* text = std::get_if<model::TextPart>(&part)) {
    Put(dict, "text", text->text);
  } else if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) {
    Put(dict, "text", refusal->text);
  } else {
    const auto& data = std::get<model::DataPart>(part);
    Put(dict, "media_type", data.media_type);
    Put(dict, "bytes", data.bytes);
    Put(dict, "url", data.url);
    Put(dict, "filename", data.filename);
  }
  return dict;
}

Result<model::Part> PartFrom(const Value& value) {
  const auto* dict = value.If<Dict>();
  if (dict == nullptr) return Unreadable(kWhat);
  ItemFields fields(*dict);
  const std::int64_t kind = fields.Number("kind");
  std::optional<model::Part> part;
  if (kind == 0) part = model::TextPart{fields.Text("text")};
  if (kind == 1) part = model::RefusalPart{fields.Text("text")};
  if (kind == 2) {
    part = model::DataPart{.media_type = fields.Text("media_type"),
                           .bytes = fields.Text("bytes"),
                           .url = fields.Text("url"),
                           .filename = fields.Text("filename")};
  }
  if (!part || !fields.good()) return Unreadable(kWhat);
  return *std::move(part);
}

Value PartsToValue(const std::vector<model::Part>& parts) {
  List list;
  for (const model::Part& part : parts) list.items.push_back(PartToValue(part));
  return list;
}

Result<std::vector<model::Part>> PartsFrom(const List& list) {
  std::vector<model::Part> parts;
  for (const Value& value : list.items) {
    TRY_ASSIGN(model::Part part, PartFrom(value));
    parts.push_back(std::move(part));
  }
  return parts;
}

void Write(Dict& dict, const model::MessageItem& message) {
  PutNumber(dict, "role", static_cast<std::int64_t>(message.role));
  dict.items.emplace_back(std::string("parts"), PartsToValue(message.parts));
}
void Write(Dict& dict, const model::ReasoningItem& reasoning) {
  Put(dict, "text", reasoning.text);
  Put(dict, "encrypted", reasoning.encrypted);
}
void Write(Dict& dict, const CodeCall& call) {
  Put(dict, "call_id", call.call_id);
  Put(dict, "code", call.code);
  Put(dict, "run", call.run.str());
  PutNumber(dict, "progress", static_cast<std::int64_t>(call.progress));
  Put(dict, "logs", call.logs);
  PutNumber(dict, "is_error", call.is_error ? 1 : 0);
  List files;
  for (const TurnFile& file : call.files) {
    Dict entry;
    Put(entry, "path", file.path);
    Put(entry, "media_type", file.media_type);
    PutNumber(entry, "bytes", static_cast<std::int64_t>(file.bytes));
    PutNumber(entry, "number", file.number);
    files.items.emplace_back(std::move(entry));
  }
  if (!files.items.empty()) dict.items.emplace_back(std::string("files"), std::move(files));
}
void Write(Dict& dict, const HostToolCall& call) {
  Put(dict, "call_id", call.call_id);
  Put(dict, "tool", call.tool);
  Put(dict, "arguments", call.arguments);
  Put(dict, "run", call.run.str());
  PutNumber(dict, "progress", static_cast<std::int64_t>(call.progress));
  Put(dict, "output", call.output);
  PutNumber(dict, "is_error", call.is_error ? 1 : 0);
  if (call.approval) Put(dict, "approval", call.approval->str());
}
void Write(Dict& dict, const ClientCall& call) {
  Put(dict, "call_id", call.call_id);
  Put(dict, "tool", call.tool);
  Put(dict, "arguments", call.arguments);
}
void Write(Dict& dict, const ClientResult& result) {
  Put(dict, "call_id", result.call_id);
  dict.items.emplace_back(std::string("parts"), PartsToValue(result.parts));
}
void Write(Dict& dict, const ApprovalRequest& request) {
  Put(dict, "approval", request.approval.str());
  Put(dict, "call_item", request.call_item);
  Put(dict, "tool", request.tool);
  Put(dict, "arguments", request.arguments);
  PutNumber(
      dict, "expires_at",
      std::chrono::duration_cast<std::chrono::microseconds>(request.expires_at.time_since_epoch())
          .count());
}
void Write(Dict& dict, const ApprovalAnswer& answer) {
  Put(dict, "approval", answer.approval.str());
  PutNumber(dict, "approve", answer.approve ? 1 : 0);
  Put(dict, "reason", answer.reason);
  std::string changes;
  if (answer.changes && EncodeValue(Value(*answer.changes), changes)) Put(dict, "changes", changes);
}

CodeCall ReadCode(ItemFields& fields) {
  CodeCall call{.call_id = fields.Text("call_id"),
                .code = fields.Text("code"),
                .run = RunId(fields.Text("run")),
                .progress = fields.Progress(),
                .logs = fields.Text("logs"),
                .is_error = fields.Flag("is_error")};
  for (const Value& value : fields.Items("files").items) {
    const auto* entry = value.If<Dict>();
    if (entry == nullptr) continue;
    ItemFields file(*entry);
    call.files.push_back({.path = file.Text("path"),
                          .media_type = file.Text("media_type"),
                          .bytes = static_cast<std::uint64_t>(file.Number("bytes")),
                          .number = static_cast<std::uint32_t>(file.Number("number"))});
  }
  return call;
}

HostToolCall ReadTool(ItemFields& fields) {
  HostToolCall call{.call_id = fields.Text("call_id"),
                    .tool = fields.Text("tool"),
                    .arguments = fields.Text("arguments"),
                    .run = RunId(fields.Text("run")),
                    .progress = fields.Progress(),
                    .output = fields.Text("output"),
                    .is_error = fields.Flag("is_error")};
  if (std::string approval = fields.Text("approval"); !approval.empty()) {
    call.approval = ApprovalId(std::move(approval));
  }
  return call;
}

ApprovalRequest ReadRequest(ItemFields& fields) {
  return {.approval = ApprovalId(fields.Text("approval")),
          .call_item = fields.Text("call_item"),
          .tool = fields.Text("tool"),
          .arguments = fields.Text("arguments"),
          .expires_at = SystemTime(std::chrono::duration_cast<SystemTime::duration>(
              std::chrono::microseconds(fields.Number("expires_at"))))};
}

using ItemContent = decltype(TurnItem::content);

Result<ItemContent> ReadContent(std::int64_t kind, ItemFields& fields) {
  if (kind == kMessage) {
    const std::int64_t role = fields.Number("role");
    if (role < 0 || role > static_cast<std::int64_t>(model::Role::kDeveloper)) {
      return Unreadable(kWhat);
    }
    TRY_ASSIGN(auto parts, PartsFrom(fields.Items("parts")));
    return ItemContent(
        model::MessageItem{.role = static_cast<model::Role>(role), .parts = std::move(parts)});
  }
  if (kind == kReasoning) {
    return ItemContent(
        model::ReasoningItem{.text = fields.Text("text"), .encrypted = fields.Text("encrypted")});
  }
  if (kind == kCode) return ItemContent(ReadCode(fields));
  if (kind == kTool) return ItemContent(ReadTool(fields));
  if (kind == kClient) {
    return ItemContent(ClientCall{.call_id = fields.Text("call_id"),
                                  .tool = fields.Text("tool"),
                                  .arguments = fields.Text("arguments")});
  }
  if (kind == kClientResult) {
    TRY_ASSIGN(auto parts, PartsFrom(fields.Items("parts")));
    return ItemContent(ClientResult{.call_id = fields.Text("call_id"), .parts = std::move(parts)});
  }
  if (kind == kRequest) return ItemContent(ReadRequest(fields));
  if (kind == kAnswer) {
    ApprovalAnswer answer{.approval = ApprovalId(fields.Text("approval")),
                          .approve = fields.Flag("approve"),
                          .reason = fields.Text("reason")};
    if (const std::string changes = fields.Text("changes"); !changes.empty()) {
      TRY_ASSIGN(answer.changes, DecodeDict(changes, kWhat));
    }
    return ItemContent(std::move(answer));
  }
  return Unreadable(kWhat);
}

std::size_t PartBytes(const std::vector<model::Part>& parts) {
  std::size_t bytes = 0;
  for (const model::Part& part : parts) {
    if (const auto* text = std::get_if<model::TextPart>(&part)) bytes += text->text.size();
    if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) bytes += refusal->text.size();
    if (const auto* data = std::get_if<model::DataPart>(&part)) {
      bytes += data->bytes.size() + data->url.size() + data->filename.size();
    }
  }
  return bytes;
}

std::size_t Size(const model::MessageItem& item) {
  return PartBytes(item.parts);
}
std::size_t Size(const model::ReasoningItem& item) {
  return item.text.size() + item.encrypted.size();
}
std::size_t Size(const CodeCall& item) {
  std::size_t bytes = item.code.size() + item.logs.size();
  for (const TurnFile& file : item.files) bytes += file.path.size() + file.media_type.size();
  return bytes;
}
std::size_t Size(const HostToolCall& item) {
  return item.tool.size() + item.arguments.size() + item.output.size();
}
std::size_t Size(const ClientCall& item) {
  return item.tool.size() + item.arguments.size();
}
std::size_t Size(const ClientResult& item) {
  return PartBytes(item.parts);
}
std::size_t Size(const ApprovalRequest& item) {
  return item.tool.size() + item.arguments.size();
}
std::size_t Size(const ApprovalAnswer& item) {
  return item.reason.size();
}

}  // namespace

Value ToValue(const TurnItem& item) {
  Dict dict;
  Put(dict, "id", item.id);
  PutNumber(dict, "kind", static_cast<std::int64_t>(item.content.index()));
  PutNumber(dict, "is_cut", item.is_cut ? 1 : 0);
  std::visit([&](const auto& content) { Write(dict, content); }, item.content);
  return dict;
}

Result<TurnItem> TurnItemFrom(const Value& value) {
  const auto* dict = value.If<Dict>();
  if (dict == nullptr) return Unreadable(kWhat);
  ItemFields fields(*dict);
  TRY_ASSIGN(auto content, ReadContent(fields.Number("kind"), fields));
  TurnItem item{
      .id = fields.Text("id"), .content = std::move(content), .is_cut = fields.Flag("is_cut")};
  if (!fields.good()) return Unreadable(kWhat);
  return item;
}

std::string Encode(const TurnItem& item) {
  std::string bytes;
  if (!EncodeValue(ToValue(item), bytes)) std::abort();  // It nests a few levels.
  return bytes;
}

Result<TurnItem> DecodeTurnItem(std::string_view bytes) {
  TRY_ASSIGN(Dict dict, DecodeDict(bytes, kWhat));
  return TurnItemFrom(Value(std::move(dict)));
}

std::string NewTurnItemId(std::string_view prefix) {
  return std::string(prefix) + NewRunId().substr(std::string_view("run_").size());
}

std::string_view PrefixOf(const TurnItem& item) {
  static constexpr std::string_view kPrefixes[] = {"msg_", "rs_",  "ci_",   "mcp_",
                                                   "fc_",  "fco_", "mcpr_", "mcpa_"};
  return kPrefixes[item.content.index()];
}

std::size_t TextBytes(const TurnItem& item) {
  return item.id.size() +
         std::visit([](const auto& content) { return Size(content); }, item.content);
}

}  // namespace caisson
