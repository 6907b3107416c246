// The TurnStore keeps what is needed of responses that are under way: which replica works on them,
// and the events that they have told. It also keeps which turn of a conversation is under way.
//
// As with runs, a replica holds a lease with a fence that grows with every claim. Every change
// names the lease, and an outdated fence is refused.
//
// Trust     Bodies and events are opaque.
// Threads   Same as RunStore.
// Lifetime  Same as RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"
#include "store/responses.h"
#include "store/runs.h"

namespace caisson {

namespace asio = boost::asio;

struct OwnedTurn {
  IsolationKey owner;
  ResponseId turn;
};

struct ClaimedTurn {
  Lease lease;
  std::int64_t attempts = 0;  // How often another replica has taken it since it made progress.
};

// Events with numbers from `first` on, without gaps.
struct NewEvents {
  std::uint64_t first = 0;
  std::vector<std::string> bodies{};
};

class TurnStore {
 public:
  virtual ~TurnStore() = default;

  // Creates a response that its creator works on. Fails with kFailedPrecondition if the id exists.
  virtual asio::awaitable<Result<Lease>> Begin(IsolationKey owner, StoredResponse response,
                                               LeaseTerm term) = 0;
  // Takes a turn whose lease has expired or was given back, and counts an attempt. Fails with
  // kFailedPrecondition if it is held or has ended.
  virtual asio::awaitable<Result<ClaimedTurn>> Claim(IsolationKey owner, ResponseId id,
                                                     LeaseTerm term) = 0;
  virtual asio::awaitable<Result<void>> Release(IsolationKey owner, ResponseId id, Lease lease) = 0;
  // The following fail with kFailedPrecondition if the lease is outdated.
  // Replaces the body of the response. It has made progress.
  virtual asio::awaitable<Result<void>> Replace(IsolationKey owner, ResponseId id, Lease lease,
                                                std::string body, SystemTime now) = 0;
  virtual asio::awaitable<Result<void>> Append(IsolationKey owner, ResponseId id, Lease lease,
                                               NewEvents events) = 0;
  // Replaces the body and gives up the lease for good. The events stay.
  virtual asio::awaitable<Result<void>> End(IsolationKey owner, ResponseId id, Lease lease,
                                            std::string body, NewEvents events, SystemTime now) = 0;
  // Records a request to cancel, for the current or next holder. Does nothing if the turn has
  // ended.
  virtual asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, ResponseId id,
                                                    SystemTime now) = 0;
  // In order, from number `from` on.
  virtual asio::awaitable<Result<std::vector<std::string>>> Events(IsolationKey owner,
                                                                   ResponseId id,
                                                                   std::uint64_t from,
                                                                   std::uint32_t limit) = 0;

  // From now on this turn is the conversation's. Fails with kNotFound if there is no such
  // conversation, and with kFailedPrecondition if it has another turn whose term is not over.
  virtual asio::awaitable<Result<void>> EnterConversation(IsolationKey owner, ConversationId id,
                                                          ResponseId turn, LeaseTerm term) = 0;
  virtual asio::awaitable<Result<void>> LeaveConversation(IsolationKey owner, ConversationId id,
                                                          ResponseId turn) = 0;
};

}  // namespace caisson
