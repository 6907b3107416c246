// The CheckpointStore keeps the states of a workflow; the newest one is its head.
//
// Trust     Bytes are opaque. The caller seals them and checks what comes back.
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

struct Checkpoint {
  CheckpointId id;
  std::string bytes{};
  SystemTime created_at{};
};

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // Adds a checkpoint and makes it the head, if the head is still `expected` (nullopt: there is
  // none yet). Fails with kFailedPrecondition if the head has changed.
  virtual asio::awaitable<Result<void>> Append(IsolationKey owner, InstanceId instance,
                                               std::optional<CheckpointId> expected,
                                               Checkpoint checkpoint) = 0;
  virtual asio::awaitable<Result<Checkpoint>> Head(IsolationKey owner, InstanceId instance) = 0;
  virtual asio::awaitable<Result<Checkpoint>> Find(IsolationKey owner, InstanceId instance,
                                                   CheckpointId id) = 0;
  // Oldest first.
  virtual asio::awaitable<Result<std::vector<CheckpointId>>> List(IsolationKey owner,
                                                                  InstanceId instance) = 0;
  // Removes all but the newest `keep`, at least one.
  virtual asio::awaitable<Result<void>> Prune(IsolationKey owner, InstanceId instance,
                                              std::uint32_t keep) = 0;
};

}  // namespace caisson
