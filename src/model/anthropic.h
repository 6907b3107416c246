// Anthropic's Messages API.
//
// Trust     Same as Dialect and ReplyReader.
// Threads   Same as Dialect and ReplyReader.
// Lifetime  Same as Dialect and ReplyReader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/dialect.h"

namespace caisson::model {

Dict AnthropicBody(const ModelRequest& request, const DialectSettings& settings);

// In ReasoningItem::encrypted: before the signature of a thinking block, before the data of a
// redacted one.
inline constexpr std::string_view kAnthropicSignature = "anthropic:";
inline constexpr std::string_view kAnthropicRedacted = "anthropic-redacted:";

// Reads the events of a stream and whole messages.
class AnthropicReader final : public ReplyReader {
 public:
  explicit AnthropicReader(ReplyBuilder builder) : builder_(std::move(builder)) {}

  Result<Progress> TakeEvent(const Dict& event) override;
  Result<void> TakeWhole(const Dict& answer) override;
  Result<ModelReply> End() override;

 private:
  enum class Kind { kText, kThinking, kCall };
  // A content block that has begun.
  struct Block {
    Kind kind;
    ReplyBuilder::Index item = 0;  // Not for text.
    std::string signature{};
    std::string input{};  // Of a call, if it came with the start of the block.
  };

  Result<void> BeginBlock(std::int64_t index, const Dict& block);
  Result<void> TakeDelta(std::int64_t index, const Dict& delta);
  Result<void> AddText(std::string_view text);
  Result<void> EndBlock(Block& block);
  void TakeUsage(const Dict* usage);
  void TakeReason(std::string_view reason);

  ReplyBuilder builder_;
  std::map<std::int64_t, Block> blocks_;
  // The message that the next text block continues: blocks of text that follow each other are one.
  std::optional<ReplyBuilder::Index> message_;
  bool is_finished_ = false;
};

}  // namespace caisson::model
