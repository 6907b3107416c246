// Conversations are lists of items that a client makes, reads and extends by itself. A turn with a
// conversation adds its own input and output (agent/turn.h).
//
// Trust     Ids and items come from clients. Conversations of other owners are not found (I3, I4).
// Threads   Any executor.
// Lifetime  Outlives its calls.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

namespace asio = boost::asio;

// A conversation has at most this many items.
inline constexpr std::size_t kMaxConversationItems = 10'000;

struct ConversationView {
  ConversationId id;
  std::string door_data{};  // Opaque; returned with the conversation.
  SystemTime created_at{};
};

class Conversations {
 public:
  virtual ~Conversations() = default;

  // Fails with kFailedPrecondition if the id exists.
  virtual asio::awaitable<Result<ConversationView>> Create(IsolationKey owner,
                                                           ConversationView conversation,
                                                           std::vector<TurnItem> items) = 0;
  // These fail with kNotFound if this owner has no such conversation.
  virtual asio::awaitable<Result<ConversationView>> Find(IsolationKey owner, ConversationId id) = 0;
  // Oldest first.
  virtual asio::awaitable<Result<std::vector<TurnItem>>> Items(IsolationKey owner,
                                                               ConversationId id) = 0;
  // Fails with kResourceExhausted if the conversation would become too long, and with
  // kFailedPrecondition if another call extends it at the same time.
  virtual asio::awaitable<Result<void>> Append(IsolationKey owner, ConversationId id,
                                               std::vector<TurnItem> items) = 0;
  virtual asio::awaitable<Result<void>> Remove(IsolationKey owner, ConversationId id) = 0;
};

}  // namespace caisson
