// OpenAI's Chat Completions, which servers of many others speak, each a little differently.
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
#include <vector>

#include "model/dialect.h"

namespace caisson::model {

Dict ChatBody(const ModelRequest& request, const DialectSettings& settings);

// Reads `chat.completion.chunk` events and whole answers.
class ChatReader final : public ReplyReader {
 public:
  explicit ChatReader(ReplyBuilder builder) : builder_(std::move(builder)) {}

  Result<Progress> TakeEvent(const Dict& event) override;
  Result<void> TakeWhole(const Dict& answer) override;
  Result<ModelReply> End() override;

 private:
  // One call whose pieces arrive.
  struct Slot {
    std::string id{};    // As the server sent it.
    std::string name{};  // Empty: not yet known; then there is no item.
    ReplyBuilder::Index item = 0;
    std::string arguments{};  // All of them.
    std::size_t told = 0;     // Bytes of `arguments` that the item has.
  };

  Result<void> TakeCommon(const Dict& answer);
  Result<void> TakeDelta(const Dict& delta);
  Result<void> TakeText(const Value* content);
  Result<void> AddText(std::string_view text);
  Result<void> AddReasoning(std::string_view text);
  Result<void> TakeCalls(const List& fragments);
  Result<void> TakeCall(const Dict& fragment, std::size_t position, std::size_t count);
  Slot& SlotFor(const Dict& fragment, std::string_view name, std::size_t position,
                std::size_t count);
  Slot& NewSlot(const std::int64_t* index);

  ReplyBuilder builder_;
  std::vector<Slot> slots_;
  std::map<std::int64_t, std::size_t> by_index_;
  std::optional<ReplyBuilder::Index> message_;
  std::optional<ReplyBuilder::Index> reasoning_;
  int checks_ = 0;            // How often arguments were checked for completeness.
  bool is_finished_ = false;  // A finish_reason has arrived.
};

}  // namespace caisson::model
