#include "agent/stored_conversations.h"

#include <utility>

#include "agent/turn_items.h"

namespace caisson {
namespace {

// Longer than it takes to add items.
constexpr std::chrono::seconds kWhileAdding{10};

// A turn of a longer conversation would be refused (HistoryLimits::bytes).
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

std::size_t SizeOf(const std::vector<std::string>& items) {
  std::size_t bytes = 0;
  for (const std::string& item : items) bytes += item.size();
  return bytes;
}

Result<void> CheckLength(std::size_t length) {
  if (length <= kMaxConversationItems) return {};
  return Error(ErrorCode::kResourceExhausted, "a conversation has at most " +
                                                  std::to_string(kMaxConversationItems) +
                                                  " items; begin a new one");
}

}  // namespace

asio::awaitable<Result<ConversationView>> StoredConversations::Create(IsolationKey owner,
                                                                      ConversationView conversation,
                                                                      std::vector<TurnItem> items) {
  if (auto checked = CheckLength(items.size()); !checked) co_return std::move(checked).error();
  conversation.created_at = clock_.Now();
  auto created = co_await store_.responses().CreateConversation(
      owner, {.id = conversation.id,
              .body = conversation.door_data,
              .created_at = conversation.created_at});
  if (created && !items.empty()) {
    created = co_await Add(std::move(owner), conversation.id, std::move(items));
  }
  if (!created) co_return std::move(created).error();
  co_return conversation;
}

asio::awaitable<Result<ConversationView>> StoredConversations::Find(IsolationKey owner,
                                                                    ConversationId id) {
  auto found = co_await store_.responses().FindConversation(std::move(owner), std::move(id));
  if (!found) co_return std::move(found).error();
  co_return ConversationView{.id = std::move(found->id),
                             .door_data = std::move(found->body),
                             .created_at = found->created_at};
}

asio::awaitable<Result<std::vector<TurnItem>>> StoredConversations::Items(IsolationKey owner,
                                                                          ConversationId id) {
  const auto stored = co_await store_.responses().Items(
      std::move(owner), std::move(id), 0, static_cast<std::uint32_t>(kMaxConversationItems));
  if (!stored) co_return stored.error();
  std::vector<TurnItem> items;
  for (const std::string& bytes : *stored) {
    auto item = DecodeTurnItem(bytes);
    if (!item) co_return std::move(item).error();
    items.push_back(*std::move(item));
  }
  co_return items;
}

asio::awaitable<Result<void>> StoredConversations::Add(IsolationKey owner, ConversationId id,
                                                       std::vector<TurnItem> items) {
  auto found = co_await store_.responses().FindConversation(owner, id);
  if (!found) co_return std::move(found).error();
  const auto length = static_cast<std::size_t>(found->length);
  if (auto checked = CheckLength(length + items.size()); !checked) co_return checked;
  std::vector<std::string> encoded;
  for (const TurnItem& item : items) encoded.push_back(Encode(item));
  // Bounded, because nothing is added to a long one.
  const auto before = co_await store_.responses().Items(
      owner, id, 0, static_cast<std::uint32_t>(kMaxConversationItems));
  if (!before) co_return before.error();
  if (SizeOf(*before) + SizeOf(encoded) > kMaxBytes) {
    co_return Error(ErrorCode::kResourceExhausted,
                    "a conversation has at most 16 MiB; begin a new one");
  }
  auto added = co_await store_.responses().AppendItems(
      std::move(owner), std::move(id), found->length, std::move(encoded), clock_.Now());
  if (!added) co_return std::move(added).error();
  co_return Result<void>();
}

asio::awaitable<Result<void>> StoredConversations::Append(IsolationKey owner, ConversationId id,
                                                          std::vector<TurnItem> items) {
  const ResponseId place(NewTurnItemId("items_"));
  const SystemTime now = clock_.Now();
  auto entered = co_await store_.turns().EnterConversation(
      owner, id, place, {.holder = place.str(), .now = now, .until = now + kWhileAdding});
  if (!entered) co_return entered;
  auto added = co_await Add(owner, id, std::move(items));
  static_cast<void>(
      co_await store_.turns().LeaveConversation(std::move(owner), std::move(id), place));
  co_return added;
}

asio::awaitable<Result<void>> StoredConversations::Remove(IsolationKey owner, ConversationId id) {
  return store_.responses().RemoveConversation(std::move(owner), std::move(id));
}

}  // namespace caisson
