// A ReplyBuilder collects the items of a reply and reports each piece as a Delta. It gives every
// call an id that is unique in the reply and in the conversation before it.
//
// Trust     Texts, names and ids are a server's. Their number and size are bounded here.
// Threads   One at a time. `on_delta` is called by the functions that add something.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/model.h"

namespace caisson::model {

struct ReplyBounds {
  std::size_t bytes = 8u << 20;  // Of all texts, arguments and names together.
  std::size_t items = 1024;
};

class ReplyBuilder {
 public:
  using Index = std::size_t;

  // `taken_ids`: the ids of the calls in the conversation before.
  ReplyBuilder(OnDelta on_delta, std::set<std::string> taken_ids, ReplyBounds bounds = {})
      : on_delta_(std::move(on_delta)), ids_(std::move(taken_ids)), bounds_(bounds) {}

  // Each of these fails with kResourceExhausted beyond a bound.
  Result<Index> BeginMessage();
  Result<Index> BeginReasoning();
  // An empty or used `id` is replaced.
  Result<Index> BeginCall(std::string_view id, std::string_view name);

  // Precondition for these: the item is of that kind. Empty pieces are ignored.
  Result<void> AppendText(Index item, std::string_view piece);
  Result<void> AppendRefusal(Index item, std::string_view piece);
  Result<void> AppendReasoning(Index item, std::string_view piece);
  Result<void> AppendArguments(Index item, std::string_view piece);
  Result<void> SetEncrypted(Index item, std::string text);

  // Precondition for these two: the item is reasoning.
  bool HasText(Index item) const {
    return !std::get<ReasoningItem>(reply_.items[item]).text.empty();
  }
  bool IsEncrypted(Index item) const {
    return !std::get<ReasoningItem>(reply_.items[item]).encrypted.empty();
  }
  // The text of a message (without refusals), the reasoning, or the arguments.
  std::string TextOf(Index item) const;
  std::size_t size() const { return reply_.items.size(); }
  bool has_calls() const { return has_calls_; }
  // For the fields besides the items.
  ModelReply& reply() { return reply_; }

  // Returns the reply. A call without arguments gets "{}", because history with other arguments
  // than JSON is refused by many servers. A reply that stopped with calls has Finish::kToolCalls.
  ModelReply Take();

 private:
  Result<void> Charge(std::size_t bytes);
  Result<Index> Add(Item item);
  template <typename Kind>
  Result<void> AppendPart(Index item, std::string_view piece);
  void Tell(const Delta& delta) const {
    if (on_delta_) on_delta_(delta);
  }

  OnDelta on_delta_;
  std::set<std::string> ids_;
  ReplyBounds bounds_;
  ModelReply reply_;
  std::size_t used_bytes_ = 0;
  bool has_calls_ = false;
};

// Returns the ids of all calls in a conversation.
std::set<std::string> CallIds(const std::vector<Item>& items);

}  // namespace caisson::model
