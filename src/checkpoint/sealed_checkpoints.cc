#include "checkpoint/sealed_checkpoints.h"

#include <utility>

#include "wire/canonical_json.h"

namespace caisson {
namespace {

// The format version is part of the binding, so other versions do not open.
Result<std::string> Binding(const IsolationKey& owner, const InstanceId& instance,
                            const CheckpointId& id) {
  return CanonicalJson(
      List{{Value("checkpoint 1"), Value(owner.str()), Value(instance.str()), Value(id.str())}});
}

}  // namespace

Result<std::string> SealCheckpoint(const KeyRing& keys, const IsolationKey& owner,
                                   const InstanceId& instance, const Checkpoint& checkpoint) {
  TRY_ASSIGN(const std::string binding, Binding(owner, instance, checkpoint.id));
  return keys.Seal(KeyPurpose::kCheckpoint, binding, checkpoint.bytes);
}

Result<std::string> OpenCheckpoint(const KeyRing& keys, const IsolationKey& owner,
                                   const InstanceId& instance, const CheckpointId& id,
                                   std::string_view sealed) {
  TRY_ASSIGN(const std::string binding, Binding(owner, instance, id));
  auto opened = keys.Open(KeyPurpose::kCheckpoint, binding, sealed);
  if (opened || opened.error().code() == ErrorCode::kInternal) return opened;
  return Error(ErrorCode::kFailedPrecondition, "the checkpoint cannot be used: it is damaged");
}

asio::awaitable<Result<void>> SealedCheckpoints::Append(IsolationKey owner, InstanceId instance,
                                                        std::optional<CheckpointId> expected,
                                                        Checkpoint checkpoint) {
  auto sealed = SealCheckpoint(keys_, owner, instance, checkpoint);
  if (!sealed) co_return std::move(sealed).error();
  checkpoint.bytes = *std::move(sealed);
  co_return co_await below_.Append(std::move(owner), std::move(instance), std::move(expected),
                                   std::move(checkpoint));
}

Result<Checkpoint> SealedCheckpoints::Opened(const IsolationKey& owner, const InstanceId& instance,
                                             Result<Checkpoint> stored) const {
  if (!stored) return stored;
  TRY_ASSIGN(stored->bytes, OpenCheckpoint(keys_, owner, instance, stored->id, stored->bytes));
  return stored;
}

asio::awaitable<Result<Checkpoint>> SealedCheckpoints::Head(IsolationKey owner,
                                                            InstanceId instance) {
  auto stored = co_await below_.Head(owner, instance);
  co_return Opened(owner, instance, std::move(stored));
}

asio::awaitable<Result<Checkpoint>> SealedCheckpoints::Find(IsolationKey owner, InstanceId instance,
                                                            CheckpointId id) {
  auto stored = co_await below_.Find(owner, instance, std::move(id));
  co_return Opened(owner, instance, std::move(stored));
}

asio::awaitable<Result<std::vector<CheckpointId>>> SealedCheckpoints::List(IsolationKey owner,
                                                                           InstanceId instance) {
  return below_.List(std::move(owner), std::move(instance));
}

asio::awaitable<Result<void>> SealedCheckpoints::Prune(IsolationKey owner, InstanceId instance,
                                                       std::uint32_t keep) {
  return below_.Prune(std::move(owner), std::move(instance), keep);
}

}  // namespace caisson
