#include "agent/stored_conversations.h"

#include <string>
#include <utility>

#include "agent/turn_items.h"

namespace caisson {
namespace {

constexpr std::uint32_t kItemsAtOnce = 500;

Result<void> CheckLength(std::int64_t length, std::size_t more) {
  if (static_cast<std::size_t>(length) + more <= kMaxConversationItems) return {};
  return Error(ErrorCode::kResourceExhausted, "a conversation can have at most " +
                                                  std::to_string(kMaxConversationItems) +
                                                  " items; begin a new one");
}

}  // namespace

asio::awaitable<Result<ConversationView>> StoredConversations::Create(IsolationKey owner,
                                                                      ConversationView conversation,
                                                                      std::vector<TurnItem> items) {
  if (auto room = CheckLength(0, items.size()); !room) co_return std::move(room).error();
  auto created = co_await store_.responses().CreateConversation(
      owner, {.id = conversation.id,
              .body = conversation.door_data,
              .created_at = conversation.created_at});
  if (!created) co_return std::move(created).error();
  auto added = co_await AppendAfter(owner, conversation.id, 0, std::move(items));
  if (!added) co_return std::move(added).error();
  co_return conversation;
}

asio::awaitable<Result<ConversationView>> StoredConversations::Find(IsolationKey owner,
                                                                    ConversationId id) {
  auto found = co_await store_.responses().FindConversation(owner, id);
  if (!found) co_return std::move(found).error();
  co_return ConversationView{
      .id = found->id, .door_data = std::move(found->body), .created_at = found->created_at};
}

asio::awaitable<Result<std::vector<TurnItem>>> StoredConversations::Items(IsolationKey owner,
                                                                          ConversationId id) {
  // The store answers an unknown conversation with no items.
  auto found = co_await store_.responses().FindConversation(owner, id);
  if (!found) co_return std::move(found).error();
  std::vector<TurnItem> items;
  for (;;) {
    auto stored = co_await store_.responses().Items(
        owner, id, static_cast<std::int64_t>(items.size()), kItemsAtOnce);
    if (!stored) co_return std::move(stored).error();
    for (const std::string& bytes : *stored) {
      auto item = DecodeTurnItem(bytes);
      if (!item) co_return std::move(item).error().Context("conversation " + id.str());
      items.push_back(*std::move(item));
    }
    if (stored->size() < kItemsAtOnce || items.size() >= kMaxConversationItems) co_return items;
  }
}

asio::awaitable<Result<void>> StoredConversations::Append(IsolationKey owner, ConversationId id,
                                                          std::vector<TurnItem> items) {
  auto found = co_await store_.responses().FindConversation(owner, id);
  if (!found) co_return std::move(found).error();
  co_return co_await AppendAfter(owner, id, found->length, std::move(items));
}

asio::awaitable<Result<void>> StoredConversations::AppendAfter(IsolationKey owner,
                                                               ConversationId id,
                                                               std::int64_t length,
                                                               std::vector<TurnItem> items) {
  if (items.empty()) co_return Result<void>();
  if (auto room = CheckLength(length, items.size()); !room) co_return std::move(room).error();
  std::vector<std::string> encoded;
  for (const TurnItem& item : items) encoded.push_back(Encode(item));
  auto added =
      co_await store_.responses().AppendItems(owner, id, length, std::move(encoded), clock_.Now());
  if (!added) co_return std::move(added).error();
  co_return Result<void>();
}

asio::awaitable<Result<void>> StoredConversations::Remove(IsolationKey owner, ConversationId id) {
  co_return co_await store_.responses().RemoveConversation(owner, id);
}

}  // namespace caisson
