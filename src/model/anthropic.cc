#include "model/anthropic.h"

#include <utility>

#include "model/server_error.h"
#include "model/server_json.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

class Anthropic final : public Dialect {
 public:
  explicit Anthropic(DialectSettings settings) : settings_(std::move(settings)) {}

  std::string_view path() const override { return "/messages"; }
  HttpHeaders Headers(std::string_view key) const override {
    HttpHeaders headers = {{"anthropic-version", "2023-06-01"}};
    if (!key.empty()) headers.emplace_back("x-api-key", key);
    return headers;
  }
  Dict Body(const ModelRequest& request) const override {
    return AnthropicBody(request, settings_);
  }
  std::unique_ptr<ReplyReader> Read(ReplyBuilder builder) const override {
    return std::make_unique<AnthropicReader>(std::move(builder));
  }

 private:
  const DialectSettings settings_;
};

}  // namespace

std::unique_ptr<Dialect> MakeAnthropic(DialectSettings settings) {
  return std::make_unique<Anthropic>(std::move(settings));
}

Result<Progress> AnthropicReader::TakeEvent(const Dict& event) {
  if (auto error = ReportedError(event)) return *std::move(error);
  const std::string_view type = TextAt(event, "type");
  const auto index = static_cast<std::int64_t>(CountAt(event, "index"));
  if (type == "message_start") {
    if (const Dict* message = ObjectAt(event, "message")) {
      builder_.reply().model = TextAt(*message, "model").substr(0, 200);
      TakeUsage(ObjectAt(*message, "usage"));
    }
  } else if (type == "content_block_start") {
    if (const Dict* block = ObjectAt(event, "content_block")) TRY(BeginBlock(index, *block));
  } else if (type == "content_block_delta") {
    if (const Dict* delta = ObjectAt(event, "delta")) TRY(TakeDelta(index, *delta));
  } else if (type == "message_delta") {
    TakeUsage(ObjectAt(event, "usage"));
    if (const Dict* delta = ObjectAt(event, "delta")) TakeReason(TextAt(*delta, "stop_reason"));
  } else if (type == "message_stop") {
    is_finished_ = true;
    return Progress::kDone;
  }
  return Progress::kMore;
}

Result<void> AnthropicReader::BeginBlock(std::int64_t index, const Dict& block) {
  const std::string_view type = TextAt(block, "type");
  if (blocks_.contains(index)) return {};
  Block begun{.kind = Kind::kText};
  if (type == "text") {
    TRY(AddText(TextAt(block, "text")));
  } else if (type == "thinking" || type == "redacted_thinking") {
    begun.kind = Kind::kThinking;
    TRY_ASSIGN(begun.item, builder_.BeginReasoning());
    TRY(builder_.AppendReasoning(begun.item, TextAt(block, "thinking")));
    begun.signature = TextAt(block, "signature");
    if (type == "redacted_thinking") {
      TRY(builder_.SetEncrypted(begun.item,
                                std::string(kAnthropicRedacted).append(TextAt(block, "data"))));
    }
  } else if (type == "tool_use") {
    const std::string_view name = TextAt(block, "name");
    if (name.empty()) {
      return Error(ErrorCode::kUnavailable, "the model server sent a call without a name");
    }
    begun.kind = Kind::kCall;
    TRY_ASSIGN(begun.item, builder_.BeginCall(TextAt(block, "id"), name));
    const Dict* input = ObjectAt(block, "input");
    if (input != nullptr && !input->items.empty()) {
      if (auto text = ToJson(*input)) begun.input = *std::move(text);
    }
  } else {
    return {};  // Tools that the server has executed itself.
  }
  if (begun.kind != Kind::kText) message_.reset();
  blocks_.emplace(index, std::move(begun));
  return {};
}

Result<void> AnthropicReader::TakeDelta(std::int64_t index, const Dict& delta) {
  const auto found = blocks_.find(index);
  if (found == blocks_.end()) return {};
  Block& block = found->second;
  const std::string_view type = TextAt(delta, "type");
  if (type == "text_delta" && block.kind == Kind::kText) {
    return AddText(TextAt(delta, "text"));
  }
  if (type == "thinking_delta" && block.kind == Kind::kThinking) {
    return builder_.AppendReasoning(block.item, TextAt(delta, "thinking"));
  }
  if (type == "signature_delta" && block.kind == Kind::kThinking) {
    const std::string_view piece = TextAt(delta, "signature");
    if (piece.size() > ReplyBounds().bytes - block.signature.size()) {
      return Error(ErrorCode::kResourceExhausted, "a signature is too long");
    }
    block.signature.append(piece);
  }
  if (type == "input_json_delta" && block.kind == Kind::kCall) {
    return builder_.AppendArguments(block.item, TextAt(delta, "partial_json"));
  }
  return {};
}

Result<void> AnthropicReader::AddText(std::string_view text) {
  if (text.empty()) return {};
  if (!message_) {
    TRY_ASSIGN(message_, builder_.BeginMessage());
  }
  return builder_.AppendText(*message_, text);
}

Result<void> AnthropicReader::EndBlock(Block& block) {
  if (block.kind == Kind::kThinking && !block.signature.empty()) {
    return builder_.SetEncrypted(block.item, std::string(kAnthropicSignature) + block.signature);
  }
  if (block.kind == Kind::kCall && builder_.TextOf(block.item).empty()) {
    return builder_.AppendArguments(block.item, block.input);
  }
  return {};
}

Result<void> AnthropicReader::TakeWhole(const Dict& answer) {
  if (auto error = ReportedError(answer)) return *std::move(error);
  const List* content = ListAt(answer, "content");
  if (content == nullptr) {
    return Error(ErrorCode::kUnavailable, "the model server's answer has no content");
  }
  builder_.reply().model = TextAt(answer, "model").substr(0, 200);
  std::int64_t index = 0;
  for (const Value& value : content->items) {
    const Dict* block = value.If<Dict>();
    if (block != nullptr) TRY(BeginBlock(index, *block));
    ++index;
  }
  TakeUsage(ObjectAt(answer, "usage"));
  TakeReason(TextAt(answer, "stop_reason"));
  is_finished_ = true;
  return {};
}

void AnthropicReader::TakeUsage(const Dict* usage) {
  if (usage == nullptr) return;
  TokenUsage& sum = builder_.reply().usage;
  const std::uint64_t cached = CountAt(*usage, "cache_read_input_tokens");
  // The API counts these three apart from each other. A later event may repeat or omit them.
  const std::uint64_t input =
      CountAt(*usage, "input_tokens") + CountAt(*usage, "cache_creation_input_tokens") + cached;
  if (input > 0) {
    sum.input = input;
    sum.cached_input = cached;
  }
  if (const std::uint64_t output = CountAt(*usage, "output_tokens"); output > 0) {
    sum.output = output;
  }
}

void AnthropicReader::TakeReason(std::string_view reason) {
  if (reason.empty()) return;
  is_finished_ = true;  // The content is complete, also if message_stop gets lost.
  Finish& finish = builder_.reply().finish;
  finish = Finish::kStop;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") {
    finish = Finish::kLength;
  }
  if (reason == "refusal") finish = Finish::kContentFilter;
}

Result<ModelReply> AnthropicReader::End() {
  if (!is_finished_) {
    return Error(ErrorCode::kUnavailable, "the model server ended the stream before the reply");
  }
  for (auto& [index, block] : blocks_) TRY(EndBlock(block));
  return builder_.Take();
}

}  // namespace caisson::model
