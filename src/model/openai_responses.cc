#include "model/openai_responses.h"

#include <utility>

#include "model/server_error.h"
#include "model/server_json.h"

namespace caisson::model {
namespace {

class OpenAiResponses final : public Dialect {
 public:
  explicit OpenAiResponses(DialectSettings settings) : settings_(std::move(settings)) {}

  std::string_view path() const override { return "/responses"; }
  HttpHeaders Headers(std::string_view key) const override {
    if (key.empty()) return {};
    return {{"Authorization", "Bearer " + std::string(key)}};
  }
  Dict Body(const ModelRequest& request) const override {
    return ResponsesBody(request, settings_);
  }
  std::unique_ptr<ReplyReader> Read(ReplyBuilder builder) const override {
    return std::make_unique<ResponsesReader>(std::move(builder));
  }

 private:
  const DialectSettings settings_;
};

// Returns the part of `whole` that is missing behind `known`; nothing if they contradict each
// other, because what was passed on cannot be taken back.
std::string_view Missing(std::string_view whole, std::string_view known) {
  return whole.starts_with(known) ? whole.substr(known.size()) : std::string_view();
}

// Returns the text of all parts with one of these types.
std::string JoinedParts(const List* parts, std::string_view type, std::string_view key,
                        std::string_view between) {
  std::string text;
  if (parts == nullptr) return text;
  for (const Value& item : parts->items) {
    const Dict* part = item.If<Dict>();
    if (part == nullptr || TextAt(*part, "type") != type) continue;
    if (!text.empty()) text.append(between);
    text.append(TextAt(*part, key));
  }
  return text;
}

constexpr std::size_t kMaxId = 256;
constexpr std::string_view kBetweenParts = "\n\n";  // Of reasoning.

}  // namespace

std::unique_ptr<Dialect> MakeOpenAiResponses(DialectSettings settings) {
  return std::make_unique<OpenAiResponses>(std::move(settings));
}

Result<Progress> ResponsesReader::TakeEvent(const Dict& event) {
  if (auto error = ReportedError(event)) return *std::move(error);
  const std::string_view type = TextAt(event, "type");
  if (const Dict* response = ObjectAt(event, "response")) {
    if (type == "response.completed" || type == "response.incomplete" ||
        type == "response.failed") {
      TRY(TakeResponse(*response));
      return Progress::kDone;
    }
    if (builder_.reply().model.empty()) builder_.reply().model = TextAt(*response, "model");
    return Progress::kMore;
  }
  const auto index = static_cast<std::int64_t>(CountAt(event, "output_index"));
  if (const Dict* item = ObjectAt(event, "item")) {
    // Other items begin with their first piece, so that none is empty.
    const bool is_call = TextAt(*item, "type") == "function_call";
    if (type == "response.output_item.added" && is_call) TRY(BeginCall(index, *item));
    if (type == "response.output_item.done") TRY(EndItem(index, *item));
    return Progress::kMore;
  }
  TRY(TakeDelta(type, event));
  return Progress::kMore;
}

Result<void> ResponsesReader::TakeDelta(std::string_view type, const Dict& event) {
  const auto index = static_cast<std::int64_t>(CountAt(event, "output_index"));
  const std::string_view delta = TextAt(event, "delta");
  const std::string_view id = TextAt(event, "item_id");
  if (type.ends_with(".delta") && delta.empty()) return {};
  if (type == "response.output_text.delta") {
    TRY_ASSIGN(const Slot* slot, SlotAt(index, Kind::kMessage, id));
    return slot == nullptr ? Result<void>() : builder_.AppendText(slot->item, delta);
  }
  if (type == "response.refusal.delta") {
    TRY_ASSIGN(Slot * slot, SlotAt(index, Kind::kMessage, id));
    if (slot == nullptr) return {};
    slot->has_refusal = true;
    return builder_.AppendRefusal(slot->item, delta);
  }
  if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
    TRY_ASSIGN(Slot * slot, SlotAt(index, Kind::kReasoning, id));
    if (slot == nullptr) return {};
    if (std::exchange(slot->is_new_part, false)) {
      TRY(builder_.AppendReasoning(slot->item, kBetweenParts));
    }
    return builder_.AppendReasoning(slot->item, delta);
  }
  const auto found = slots_.find(index);
  if (found == slots_.end()) return {};
  if (type == "response.reasoning_summary_part.added" && found->second.kind == Kind::kReasoning) {
    found->second.is_new_part = builder_.HasText(found->second.item);
  }
  if (found->second.kind != Kind::kCall) return {};
  if (type == "response.function_call_arguments.delta") {
    return builder_.AppendArguments(found->second.item, delta);
  }
  return {};
}

// Returns the slot, which begins now if there is none. Null: the index belongs to another kind.
Result<ResponsesReader::Slot*> ResponsesReader::SlotAt(std::int64_t index, Kind kind,
                                                       std::string_view id) {
  if (const auto found = slots_.find(index); found != slots_.end()) {
    return found->second.kind == kind ? &found->second : nullptr;
  }
  TRY_ASSIGN(const ReplyBuilder::Index item,
             kind == Kind::kMessage ? builder_.BeginMessage() : builder_.BeginReasoning());
  const Slot slot{.kind = kind, .item = item, .id = std::string(id.substr(0, kMaxId))};
  return &slots_.emplace(index, slot).first->second;
}

Result<ResponsesReader::Slot*> ResponsesReader::BeginCall(std::int64_t index, const Dict& item) {
  if (const auto found = slots_.find(index); found != slots_.end()) {
    return found->second.kind == Kind::kCall ? &found->second : nullptr;
  }
  const std::string_view name = TextAt(item, "name");
  if (name.empty()) {
    return Error(ErrorCode::kUnavailable, "the model server sent a call without a name");
  }
  TRY_ASSIGN(const ReplyBuilder::Index begun, builder_.BeginCall(TextAt(item, "call_id"), name));
  const Slot slot{
      .kind = Kind::kCall, .item = begun, .id = std::string(TextAt(item, "id").substr(0, kMaxId))};
  return &slots_.emplace(index, slot).first->second;
}

// Counts once for each item, so that repeated events cost no time.
Result<void> ResponsesReader::EndItem(std::int64_t index, const Dict& item) {
  const auto known = slots_.find(index);
  if (known != slots_.end() && known->second.is_done) return {};
  TRY(TakeItem(index, item));
  if (const auto found = slots_.find(index); found != slots_.end()) found->second.is_done = true;
  return {};
}

// Takes a complete item and adds what its deltas have not brought.
Result<void> ResponsesReader::TakeItem(std::int64_t index, const Dict& item) {
  const std::string_view type = TextAt(item, "type");
  if (type == "message") return TakeMessage(index, item);
  if (type == "reasoning") return TakeReasoning(index, item);
  if (type == "function_call") return TakeCall(index, item);
  return {};
}

Result<void> ResponsesReader::TakeMessage(std::int64_t index, const Dict& item) {
  const List* content = ListAt(item, "content");
  const std::string text = JoinedParts(content, "output_text", "text", "");
  const std::string refusal = JoinedParts(content, "refusal", "refusal", "");
  if (text.empty() && refusal.empty()) return {};
  TRY_ASSIGN(Slot * slot, SlotAt(index, Kind::kMessage, TextAt(item, "id")));
  if (slot == nullptr) return {};
  TRY(builder_.AppendText(slot->item, Missing(text, builder_.TextOf(slot->item))));
  if (refusal.empty() || std::exchange(slot->has_refusal, true)) return {};
  return builder_.AppendRefusal(slot->item, refusal);
}

Result<void> ResponsesReader::TakeReasoning(std::int64_t index, const Dict& item) {
  std::string text = JoinedParts(ListAt(item, "summary"), "summary_text", "text", kBetweenParts);
  if (text.empty()) text = JoinedParts(ListAt(item, "content"), "reasoning_text", "text", "");
  const std::string_view encrypted = TextAt(item, "encrypted_content");
  if (text.empty() && encrypted.empty()) return {};
  TRY_ASSIGN(const Slot* slot, SlotAt(index, Kind::kReasoning, TextAt(item, "id")));
  if (slot == nullptr) return {};
  TRY(builder_.AppendReasoning(slot->item, Missing(text, builder_.TextOf(slot->item))));
  if (encrypted.empty() || builder_.IsEncrypted(slot->item)) return {};
  return builder_.SetEncrypted(
      slot->item, std::string(kResponsesReasoning) + slot->id + ":" + std::string(encrypted));
}

Result<void> ResponsesReader::TakeCall(std::int64_t index, const Dict& item) {
  TRY_ASSIGN(const Slot* slot, BeginCall(index, item));
  if (slot == nullptr) return {};
  return builder_.AppendArguments(slot->item,
                                  Missing(TextAt(item, "arguments"), builder_.TextOf(slot->item)));
}

// The place of an item in the output can differ from its output_index in the stream, so its id
// counts first.
std::int64_t ResponsesReader::IndexOf(const Dict& item, std::int64_t position) const {
  const std::string_view id = TextAt(item, "id");
  if (id.empty()) return position;
  for (const auto& [index, slot] : slots_) {
    if (slot.id == id) return index;
  }
  const auto at = slots_.find(position);
  if (at == slots_.end() || at->second.id.empty()) return position;
  return slots_.rbegin()->first + 1;
}

Result<void> ResponsesReader::TakeResponse(const Dict& response) {
  if (auto error = ReportedError(response)) return *std::move(error);
  const std::string_view status = TextAt(response, "status");
  if (status == "failed" || status == "cancelled") {
    return Error(ErrorCode::kUnavailable,
                 "the model server ended the reply as " + std::string(status));
  }
  if (const List* output = ListAt(response, "output")) {
    std::int64_t position = 0;
    for (const Value& value : output->items) {
      const Dict* item = value.If<Dict>();
      if (item != nullptr) TRY(TakeItem(IndexOf(*item, position), *item));
      ++position;
    }
  }
  ModelReply& reply = builder_.reply();
  reply.model = TextAt(response, "model").substr(0, 200);
  if (const Dict* usage = ObjectAt(response, "usage")) {
    reply.usage = {
        .input = CountAt(*usage, "input_tokens"),
        .cached_input = CountAt(ObjectAt(*usage, "input_tokens_details"), "cached_tokens"),
        .output = CountAt(*usage, "output_tokens"),
        .reasoning = CountAt(ObjectAt(*usage, "output_tokens_details"), "reasoning_tokens")};
  }
  if (status == "incomplete") {
    const Dict* details = ObjectAt(response, "incomplete_details");
    const bool filtered = details != nullptr && TextAt(*details, "reason") == "content_filter";
    reply.finish = filtered ? Finish::kContentFilter : Finish::kLength;
  }
  is_finished_ = true;
  return {};
}

Result<void> ResponsesReader::TakeWhole(const Dict& answer) {
  return TakeResponse(answer);
}

Result<ModelReply> ResponsesReader::End() {
  if (!is_finished_) {
    return Error(ErrorCode::kUnavailable, "the model server ended the stream before the reply");
  }
  return builder_.Take();
}

}  // namespace caisson::model
