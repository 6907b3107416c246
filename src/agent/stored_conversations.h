// StoredConversations keeps conversations in the store, where turns read and extend them too.
//
// Trust     Items come from clients. Stored items are checked when they are read.
// Threads   Any executor.
// Lifetime  Store and clock outlive it and its calls.
#pragma once

#include "agent/conversations.h"
#include "base/clock.h"
#include "store/store.h"

namespace caisson {

class StoredConversations final : public Conversations {
 public:
  StoredConversations(Store& store, const Clock& clock) : store_(store), clock_(clock) {}

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
  asio::awaitable<Result<void>> AppendAfter(IsolationKey owner, ConversationId id,
                                            std::int64_t length, std::vector<TurnItem> items);

  Store& store_;
  const Clock& clock_;
};

}  // namespace caisson
