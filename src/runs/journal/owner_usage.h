// OwnerUsage is how many bytes an owner's runs take in the store: counted there at most once a second.
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

  // Fails with kResourceExhausted if the owner has no room for another run. While the store fails nothing is known, and nothing
  // can be stored; the run may start. Runs under way are not counted while they hold a
  // cell, so that an owner may get above the limit by what those may store.
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
