// Adds the items of a turn to its conversation.
//
// Trust     Contents are opaque.
// Threads   Any executor.
// Lifetime  The store outlives the coroutine.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "agent/turn.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/store.h"

namespace caisson {

namespace asio = boost::asio;

// `length`: the number of items when the turn began. Can be repeated: items are added once. The
// conversation is then free for another turn. Does nothing for a turn without a conversation.
asio::awaitable<Result<void>> EndInConversation(Store& store, IsolationKey owner,
                                                const TurnView& view, std::int64_t length,
                                                SystemTime now);

}  // namespace caisson
