#include "agent/conversation_end.h"

#include <string>
#include <utility>
#include <vector>

#include "agent/turn_items.h"

namespace caisson {

asio::awaitable<Result<void>> EndInConversation(Store& store, IsolationKey owner,
                                                const TurnView& view, std::int64_t length,
                                                SystemTime now) {
  if (!view.conversation) co_return Result<void>();
  std::vector<std::string> items;
  for (const auto* part : {&view.input, &view.output}) {
    for (const TurnItem& item : *part) items.push_back(Encode(item));
  }
  const std::string first = items.empty() ? "" : items.front();
  auto appended = co_await store.responses().AppendItems(owner, *view.conversation, length,
                                                         std::move(items), now);
  if (!appended && appended.error().code() == ErrorCode::kFailedPrecondition && !first.empty()) {
    // Perhaps another replica was lost directly after it had added them.
    const auto there = co_await store.responses().Items(owner, *view.conversation, length, 1);
    if (there && !there->empty() && there->front() == first) appended = length;
  }
  const auto left = co_await store.turns().LeaveConversation(owner, *view.conversation, view.id);
  if (!appended) co_return std::move(appended).error();
  co_return left;
}

}  // namespace caisson
