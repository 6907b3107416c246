// SealedCheckpoints seals what a CheckpointStore keeps: each one opens only for its owner, in its instance, under its id.
//
// So a row that was changed, cut, or put into another place is refused, whoever did it; nothing of it is loaded. A store
// that as a whole was put back to an earlier day is not noticed.
//
// Trust     What the store below gives back is hostile until it is open.
// Threads   As CheckpointStore.
// Lifetime  The store below and the keys outlive it and the calls under way.
#pragma once

#include "approval/key_ring.h"
#include "store/checkpoints.h"

namespace caisson {

// A checkpoint's bytes as they are stored.
Result<std::string> SealCheckpoint(const KeyRing& keys, const IsolationKey& owner,
                                   const InstanceId& instance, const Checkpoint& checkpoint);
// The bytes themselves. kFailedPrecondition: they are not that checkpoint, whole and unchanged, or the key is gone;
// which of them is not told.
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
