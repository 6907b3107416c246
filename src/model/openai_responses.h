// OpenAI's Responses API, used without stored responses.
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

Dict ResponsesBody(const ModelRequest& request, const DialectSettings& settings);

// In ReasoningItem::encrypted: this, the id of the item, a colon, and the encrypted content.
inline constexpr std::string_view kResponsesReasoning = "openai-responses:";

// Reads the events of a stream and whole responses.
class ResponsesReader final : public ReplyReader {
 public:
  explicit ResponsesReader(ReplyBuilder builder) : builder_(std::move(builder)) {}

  Result<Progress> TakeEvent(const Dict& event) override;
  Result<void> TakeWhole(const Dict& answer) override;
  Result<ModelReply> End() override;

 private:
  enum class Kind { kMessage, kReasoning, kCall };
  // One item of the output that has begun.
  struct Slot {
    Kind kind;
    ReplyBuilder::Index item = 0;
    std::string id{};
    bool is_new_part = false;  // The next piece of reasoning begins a part.
    bool has_refusal = false;
    bool is_done = false;
  };

  Result<Slot*> SlotAt(std::int64_t index, Kind kind, std::string_view id);
  Result<Slot*> BeginCall(std::int64_t index, const Dict& item);
  Result<void> TakeDelta(std::string_view type, const Dict& event);
  Result<void> EndItem(std::int64_t index, const Dict& item);
  Result<void> TakeItem(std::int64_t index, const Dict& item);
  Result<void> TakeMessage(std::int64_t index, const Dict& item);
  Result<void> TakeReasoning(std::int64_t index, const Dict& item);
  Result<void> TakeCall(std::int64_t index, const Dict& item);
  Result<void> TakeResponse(const Dict& response);
  std::int64_t IndexOf(const Dict& item, std::int64_t position) const;

  ReplyBuilder builder_;
  std::map<std::int64_t, Slot> slots_;  // By output_index.
  bool is_finished_ = false;
};

}  // namespace caisson::model
