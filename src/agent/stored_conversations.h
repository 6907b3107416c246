// StoredConversations keeps conversations in a store, together with StoredTurns over the same
// store. While a turn of a conversation is under way, nothing else extends it.
//
// Trust     Same as Conversations.
// Threads   Any executor.
// Lifetime  The store outlives it.
#pragma once

#include <string>
#include <vector>

#include "agent/conversations.h"
#include "base/clock.h"
#include "store/store.h"

namespace caisson {

class StoredConversations final : public Conversations {
 public:
  // `clock`: null for the system's clock.
  explicit StoredConversations(Store& store, const Clock* clock = nullptr)
      : store_(store), clock_(clock != nullptr ? *clock : system_clock_) {}

  asio::awaitable<Result<ConversationView>> Create(IsolationKey owner,
                                                   ConversationView conversation,
                                                   std::vector<TurnItem> items) override;
  asio::awaitable<Result<ConversationView>> Find(IsolationKey owner, ConversationId id) override;
  asio::awaitable<Result<std::vector<TurnItem>>> Items(IsolationKey owner,
                                                       ConversationId id) override;
  asio::awaitable<Result<void>> Append(IsolationKey owner, ConversationId id,
                                       std::vector<TurnItem> items) override;
  asio::awaitable<Result<void>> Remove(IsolationKey owner, ConversationId id) override;

 private:
  asio::awaitable<Result<void>> Add(IsolationKey owner, ConversationId id,
                                    std::vector<TurnItem> items);

  Store& store_;
  const SystemClock system_clock_{};
  const Clock& clock_;
};

}  // namespace caisson
