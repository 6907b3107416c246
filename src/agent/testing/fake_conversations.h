// Conversations in memory, for tests.
//
// Trust     For tests.
// Threads   Any; one lock.
// Lifetime  Outlives the requests.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "agent/conversations.h"
#include "base/guarded.h"

namespace caisson {

class FakeConversations final : public Conversations {
 public:
  asio::awaitable<Result<ConversationView>> Create(IsolationKey owner,
                                                   ConversationView conversation,
                                                   std::vector<TurnItem> items) override {
    auto all = all_.Lock();
    const auto [entry, is_new] =
        all->emplace(std::pair(owner, conversation.id), Entry{conversation, std::move(items)});
    if (!is_new) co_return Error(ErrorCode::kFailedPrecondition, "the conversation exists");
    co_return conversation;
  }
  asio::awaitable<Result<ConversationView>> Find(IsolationKey owner, ConversationId id) override {
    auto all = all_.Lock();
    const auto found = all->find({owner, id});
    if (found == all->end()) co_return NotThere();
    co_return found->second.view;
  }
  asio::awaitable<Result<std::vector<TurnItem>>> Items(IsolationKey owner,
                                                       ConversationId id) override {
    auto all = all_.Lock();
    const auto found = all->find({owner, id});
    if (found == all->end()) co_return NotThere();
    co_return found->second.items;
  }
  asio::awaitable<Result<void>> Append(IsolationKey owner, ConversationId id,
                                       std::vector<TurnItem> items) override {
    auto all = all_.Lock();
    const auto found = all->find({owner, id});
    if (found == all->end()) co_return NotThere();
    for (TurnItem& item : items) found->second.items.push_back(std::move(item));
    co_return Result<void>();
  }
  asio::awaitable<Result<void>> Remove(IsolationKey owner, ConversationId id) override {
    if (all_.Lock()->erase({owner, id}) == 0) co_return NotThere();
    co_return Result<void>();
  }

 private:
  struct Entry {
    ConversationView view;
    std::vector<TurnItem> items;
  };
  static Error NotThere() { return Error(ErrorCode::kNotFound, "no such conversation"); }

  Guarded<std::map<std::pair<IsolationKey, ConversationId>, Entry>> all_;
};

}  // namespace caisson
