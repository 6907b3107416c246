#include "model/openai_chat.h"

#include <utility>

#include "model/server_error.h"
#include "model/server_json.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

class OpenAiChat final : public Dialect {
 public:
  explicit OpenAiChat(DialectSettings settings) : settings_(std::move(settings)) {}

  std::string_view path() const override { return "/chat/completions"; }
  HttpHeaders Headers(std::string_view key) const override {
    if (key.empty()) return {};
    return {{"Authorization", "Bearer " + std::string(key)}};
  }
  Dict Body(const ModelRequest& request) const override { return ChatBody(request, settings_); }
  std::unique_ptr<ReplyReader> Read(ReplyBuilder builder) const override {
    return std::make_unique<ChatReader>(std::move(builder));
  }

 private:
  const DialectSettings settings_;
};

Finish FinishOf(std::string_view reason) {
  if (reason == "length") return Finish::kLength;
  if (reason == "content_filter") return Finish::kContentFilter;
  return Finish::kStop;  // The builder knows about calls.
}

constexpr std::size_t kMaxChecked = 8u << 10;  // Bytes of arguments.
constexpr int kMaxChecks = 1000;               // In one reply, so that they take bounded time.

bool IsWholeObject(std::string_view arguments) {
  if (!arguments.ends_with('}') || arguments.size() > kMaxChecked) return false;
  const auto value = ParseJson(arguments);
  return value && value->If<Dict>() != nullptr;
}

// The text of one part, or of a list of parts: {"type": "text", "text": "..."}.
std::string TextIn(const Value& value) {
  if (const auto* text = value.If<std::string>()) return *text;
  std::string joined;
  if (const auto* list = value.If<List>()) {
    for (const Value& part : list->items) {
      if (const auto* object = part.If<Dict>()) joined.append(TextAt(*object, "text"));
    }
  }
  return joined;
}

}  // namespace

std::unique_ptr<Dialect> MakeOpenAiChat(DialectSettings settings) {
  return std::make_unique<OpenAiChat>(std::move(settings));
}

Result<Progress> ChatReader::TakeEvent(const Dict& event) {
  TRY(TakeCommon(event));
  const List* choices = ListAt(event, "choices");
  const bool has_usage = ObjectAt(event, "usage") != nullptr;
  if (choices == nullptr || choices->items.empty()) {
    // The usage comes in a chunk of its own, after the last piece.
    return is_finished_ && has_usage ? Progress::kDone : Progress::kMore;
  }
  for (const Value& item : choices->items) {
    const Dict* choice = item.If<Dict>();
    if (choice == nullptr || CountAt(*choice, "index") != 0) continue;  // Only one is asked for.
    if (const Dict* delta = ObjectAt(*choice, "delta")) TRY(TakeDelta(*delta));
    if (const auto reason = TextAt(*choice, "finish_reason"); !reason.empty()) {
      is_finished_ = true;
      builder_.reply().finish = FinishOf(reason);
    }
  }
  return Progress::kMore;
}

Result<void> ChatReader::TakeWhole(const Dict& answer) {
  TRY(TakeCommon(answer));
  const List* choices = ListAt(answer, "choices");
  const Dict* choice =
      choices == nullptr || choices->items.empty() ? nullptr : choices->items.front().If<Dict>();
  const Dict* message = choice == nullptr ? nullptr : ObjectAt(*choice, "message");
  if (message == nullptr) {
    return Error(ErrorCode::kUnavailable, "the model server's answer has no message");
  }
  TRY(TakeDelta(*message));
  is_finished_ = true;
  builder_.reply().finish = FinishOf(TextAt(*choice, "finish_reason"));
  return {};
}

// Takes the parts that events and whole answers share.
Result<void> ChatReader::TakeCommon(const Dict& answer) {
  if (auto error = ReportedError(answer)) return *std::move(error);
  ModelReply& reply = builder_.reply();
  if (reply.model.empty()) reply.model = TextAt(answer, "model").substr(0, 200);
  if (const Dict* usage = ObjectAt(answer, "usage")) {
    reply.usage = {
        .input = CountAt(*usage, "prompt_tokens"),
        .cached_input = CountAt(ObjectAt(*usage, "prompt_tokens_details"), "cached_tokens"),
        .output = CountAt(*usage, "completion_tokens"),
        .reasoning = CountAt(ObjectAt(*usage, "completion_tokens_details"), "reasoning_tokens")};
  }
  return {};
}

Result<void> ChatReader::TakeDelta(const Dict& delta) {
  // Some servers send the same text under both names.
  const auto reasoning = TextAt(delta, "reasoning_content");
  TRY(AddReasoning(reasoning.empty() ? TextAt(delta, "reasoning") : reasoning));
  TRY(TakeText(delta.Find("content")));
  if (const auto refusal = TextAt(delta, "refusal"); !refusal.empty()) {
    TRY(AddText(""));
    TRY(builder_.AppendRefusal(*message_, refusal));
  }
  if (const List* calls = ListAt(delta, "tool_calls")) TRY(TakeCalls(*calls));
  return {};
}

Result<void> ChatReader::TakeText(const Value* content) {
  if (content == nullptr) return {};
  if (const auto* text = content->If<std::string>()) {
    return text->empty() ? Result<void>() : AddText(*text);
  }
  const auto* parts = content->If<List>();
  if (parts == nullptr) return {};
  for (const Value& item : parts->items) {
    const Dict* part = item.If<Dict>();
    if (part == nullptr) continue;
    if (const Value* thinking = part->Find("thinking")) {
      TRY(AddReasoning(TextIn(*thinking)));
    } else if (const auto text = TextAt(*part, "text"); !text.empty()) {
      TRY(AddText(text));
    }
  }
  return {};
}

Result<void> ChatReader::AddText(std::string_view text) {
  if (!message_) {
    TRY_ASSIGN(message_, builder_.BeginMessage());
  }
  return builder_.AppendText(*message_, text);
}

Result<void> ChatReader::AddReasoning(std::string_view text) {
  if (text.empty()) return {};
  if (!reasoning_) {
    TRY_ASSIGN(reasoning_, builder_.BeginReasoning());
  }
  return builder_.AppendReasoning(*reasoning_, text);
}

Result<void> ChatReader::TakeCalls(const List& fragments) {
  for (std::size_t i = 0; i < fragments.items.size(); ++i) {
    const Dict* fragment = fragments.items[i].If<Dict>();
    if (fragment != nullptr) TRY(TakeCall(*fragment, i, fragments.items.size()));
  }
  return {};
}

Result<void> ChatReader::TakeCall(const Dict& fragment, std::size_t position, std::size_t count) {
  const Dict none;
  const Dict* function = ObjectAt(fragment, "function");
  if (function == nullptr) function = &none;
  const std::string_view name = TextAt(*function, "name");
  const Value* arguments = function->Find("arguments");
  std::string piece;
  if (arguments != nullptr && arguments->If<Dict>() != nullptr) {
    if (auto text = ToJson(*arguments)) piece = *std::move(text);
  } else {
    piece = TextAt(*function, "arguments");
  }
  if (name.empty() && piece.empty() && TextAt(fragment, "id").empty()) return {};
  if (slots_.size() >= ReplyBounds().items) {
    return Error(ErrorCode::kResourceExhausted, "the model's reply has too many calls");
  }
  Slot& slot = SlotFor(fragment, name, position, count);
  if (slot.id.empty()) slot.id = TextAt(fragment, "id");
  if (slot.name.empty() && !name.empty()) {
    slot.name = name;
    TRY_ASSIGN(slot.item, builder_.BeginCall(slot.id, name));
  }
  if (piece.size() > ReplyBounds().bytes - slot.arguments.size()) {
    return Error(ErrorCode::kResourceExhausted, "the arguments of a call are too long");
  }
  slot.arguments.append(piece);
  if (slot.name.empty()) return {};
  TRY(builder_.AppendArguments(slot.item, std::string_view(slot.arguments).substr(slot.told)));
  slot.told = slot.arguments.size();
  return {};
}

// Finds the call that a fragment continues, or begins one. The index says which it is. Servers that
// leave it out, or send 0 for all calls, are understood by ids, names, and the order.
ChatReader::Slot& ChatReader::SlotFor(const Dict& fragment, std::string_view name,
                                      std::size_t position, std::size_t count) {
  const auto* index = FindAs<std::int64_t>(fragment, "index");
  const std::string_view id = TextAt(fragment, "id");
  Slot* slot = nullptr;
  if (index != nullptr) {
    const auto found = by_index_.find(*index);
    if (found != by_index_.end()) slot = &slots_[found->second];
  } else if (!id.empty()) {
    for (Slot& each : slots_) {
      if (each.id == id) slot = &each;  // The newest with this id.
    }
  } else if (count > 1) {
    if (position < slots_.size()) slot = &slots_[position];
  } else if (!slots_.empty()) {
    slot = &slots_.back();
  }
  if (slot == nullptr || name.empty()) return slot == nullptr ? NewSlot(index) : *slot;
  // A fragment with a name may begin another call at the same place.
  const bool other_id = !id.empty() && !slot->id.empty() && id != slot->id;
  const bool other_name = !slot->name.empty() && name != slot->name;
  if (other_id || other_name) return NewSlot(index);
  const bool is_whole = ++checks_ <= kMaxChecks && IsWholeObject(slot->arguments);
  return is_whole ? NewSlot(index) : *slot;
}

ChatReader::Slot& ChatReader::NewSlot(const std::int64_t* index) {
  if (index != nullptr) by_index_[*index] = slots_.size();
  return slots_.emplace_back();
}

Result<ModelReply> ChatReader::End() {
  if (!is_finished_) {
    return Error(ErrorCode::kUnavailable, "the model server ended the stream before the reply");
  }
  for (const Slot& slot : slots_) {
    if (slot.name.empty() && !slot.arguments.empty()) {
      return Error(ErrorCode::kUnavailable, "the model server sent a call without a name");
    }
  }
  return builder_.Take();
}

}  // namespace caisson::model
