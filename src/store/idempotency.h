// The IdempotencyStore lets a client send a request twice and have it done once.
//
// Trust     Keys and fingerprints come from clients; a key is only ever its owner's.
// Threads   As RunStore.
// Lifetime  As RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

namespace asio = boost::asio;

struct IdempotencyAnswer {
  enum class Kind {
    kFresh,       // Nobody has asked before: do it, then Complete.
    kInProgress,  // Somebody is at it.
    kReplay,      // Done; `reply` is what was said.
    kMismatch,    // The key was used for another request.
  };
  Kind kind = Kind::kFresh;
  std::string reply{};
};

class IdempotencyStore {
 public:
  virtual ~IdempotencyStore() = default;

  // `fingerprint` stands for the request. A key is forgotten at `expires_at`.
  virtual asio::awaitable<Result<IdempotencyAnswer>> Begin(IsolationKey owner, IdempotencyKey key,
                                                           std::string fingerprint, SystemTime now,
                                                           SystemTime expires_at) = 0;
  virtual asio::awaitable<Result<void>> Complete(IsolationKey owner, IdempotencyKey key,
                                                 std::string reply) = 0;
  // It came to nothing: the next one with this key is fresh. One that is complete stays.
  virtual asio::awaitable<Result<void>> Abandon(IsolationKey owner, IdempotencyKey key) = 0;
};

}  // namespace caisson
