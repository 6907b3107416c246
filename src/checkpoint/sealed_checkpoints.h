// SealedCheckpoints seals the data of a CheckpointStore. Each checkpoint opens only for its owner,
// in its instance, under its id.
//
// A row that was changed, cut, or moved to another place is refused, and nothing of it is loaded. A
// store that was restored as a whole to an earlier state is not detected.
//
// Trust     Data from the underlying store is hostile until it is opened.
// Threads   Same as CheckpointStore.
// Lifetime  The underlying store and the keys outlive it and its calls.
#pragma once

#include "approval/key_ring.h"
#include "store/checkpoints.h"

namespace caisson {

// Returns the bytes of a checkpoint in stored form.
Result<std::string> SealCheckpoint(const KeyRing& keys, const IsolationKey& owner,
                                   const InstanceId& instance, const Checkpoint& checkpoint);
// Returns the original bytes. Fails with kFailedPrecondition if they are not that checkpoint, whole
// and unchanged, or the key is missing; the error does not say which.
Result<std::string> OpenCheckpoint(const KeyRing& keys, const IsolationKey& owner,
                                   const InstanceId& instance, const CheckpointId& id,
                                   std::string_view sealed);

class SealedCheckpoints final : public CheckpointStore {
 public:
  SealedCheckpoints(CheckpointStore& below, const KeyRing& keys) : below_(below), keys_(keys) {}

  asio::awaitable<Result<void>> Append(IsolationKey owner, InstanceId instance,
                                       std::optional<CheckpointId> expected,
                                       Checkpoint checkpoint) override;
  asio::awaitable<Result<Checkpoint>> Head(IsolationKey owner, InstanceId instance) override;
  asio::awaitable<Result<Checkpoint>> Find(IsolationKey owner, InstanceId instance,
                                           CheckpointId id) override;
  asio::awaitable<Result<std::vector<CheckpointId>>> List(IsolationKey owner,
                                                          InstanceId instance) override;
  asio::awaitable<Result<void>> Prune(IsolationKey owner, InstanceId instance,
                                      std::uint32_t keep) override;

 private:
  Result<Checkpoint> Opened(const IsolationKey& owner, const InstanceId& instance,
                            Result<Checkpoint> stored) const;

  CheckpointStore& below_;
  const KeyRing& keys_;
};

}  // namespace caisson
