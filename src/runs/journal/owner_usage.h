// OwnerUsage counts the bytes that an owner's runs take in the store: at most once a second, and
// every ten seconds while there is much room.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  The store outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/guarded.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/runs.h"

namespace caisson {

class OwnerUsage {
 public:
  OwnerUsage(RunStore& store, std::uint64_t max_bytes) : store_(store), max_bytes_(max_bytes) {}

  // Fails with kResourceExhausted if the owner has no room for another run. Succeeds while the
  // store fails, because then nothing is known and nothing can be stored. Runs that hold a cell are
  // not counted, so an owner can exceed the limit by the amount that these runs may store.
  asio::awaitable<Result<void>> BeforeOneMore(IsolationKey owner);

 private:
  struct Counted {
    std::uint64_t bytes = 0;
    std::chrono::steady_clock::time_point until{};
  };

  RunStore& store_;
  const std::uint64_t max_bytes_;
  Guarded<std::map<IsolationKey, Counted>> counted_;
};

}  // namespace caisson
