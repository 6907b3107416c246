// The ResponseStore keeps responses, each of which may follow another one, and conversations, which
// grow at the end.
//
// Trust     Bodies are opaque.
// Threads   Same as RunStore.
// Lifetime  Same as RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

namespace asio = boost::asio;

struct StoredResponse {
  ResponseId id;
  std::optional<ResponseId> previous{};
  std::string body{};
  std::int64_t version = 1;
  SystemTime created_at{};
};

struct StoredConversation {
  ConversationId id;
  std::string body{};
  std::int64_t length = 0;  // The number of items.
  SystemTime created_at{};
};

class ResponseStore {
 public:
  virtual ~ResponseStore() = default;

  virtual asio::awaitable<Result<void>> Create(IsolationKey owner, StoredResponse response) = 0;
  virtual asio::awaitable<Result<StoredResponse>> Find(IsolationKey owner, ResponseId id) = 0;
  // Succeeds if the version is still `expected`. Returns the new version.
  virtual asio::awaitable<Result<std::int64_t>> Replace(IsolationKey owner, ResponseId id,
                                                        std::int64_t expected, std::string body,
                                                        SystemTime now) = 0;
  virtual asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) = 0;
  // Returns this response and those it follows, newest first, at most `limit`.
  virtual asio::awaitable<Result<std::vector<StoredResponse>>> Chain(IsolationKey owner,
                                                                     ResponseId id,
                                                                     std::uint32_t limit) = 0;

  virtual asio::awaitable<Result<void>> CreateConversation(IsolationKey owner,
                                                           StoredConversation conversation) = 0;
  virtual asio::awaitable<Result<StoredConversation>> FindConversation(IsolationKey owner,
                                                                       ConversationId id) = 0;
  // Succeeds if it still has `expected` items. Returns the new number of items.
  virtual asio::awaitable<Result<std::int64_t>> AppendItems(IsolationKey owner, ConversationId id,
                                                            std::int64_t expected,
                                                            std::vector<std::string> items,
                                                            SystemTime now) = 0;
  // Oldest first, from index `start` (0 is the first).
  virtual asio::awaitable<Result<std::vector<std::string>>> Items(IsolationKey owner,
                                                                  ConversationId id,
                                                                  std::int64_t start,
                                                                  std::uint32_t limit) = 0;
  virtual asio::awaitable<Result<void>> RemoveConversation(IsolationKey owner,
                                                           ConversationId id) = 0;
};

}  // namespace caisson
