// A CheckpointDirectory keeps checkpoints in files, for users who want to see them.
//
//   ROOT/<owner>/<instance>/owner           the stamp: sealed, created once, before anything else
//                           0000000007-<id> a sealed checkpoint; the highest number is the head
//
// A directory without a stamp, or with the stamp of another owner, is neither read nor written. The
// caller gets "not found"; the log gets the Refusal. The stamp appears under its name only when it
// is complete and on the disk.
//
// Trust     Files are hostile until they are opened; the directory itself belongs to the host. Ids
//           become file names; an id that is not a single safe segment is not found.
// Threads   Any executor; file operations run on the pool. Other processes may use the directory
//           too.
// Lifetime  Keys and pool outlive it and its calls.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "approval/key_ring.h"
#include "base/unique_fd.h"
#include "store/checkpoints.h"

namespace caisson {

class CheckpointDirectory final : public CheckpointStore {
 public:
  enum class Refusal { kIdentityMissing, kIdentityMismatch };
  enum class Missing { kRefuse, kCreate };
  struct Options {
    std::string root;  // Created if missing, accessible to its owner only.
    asio::any_io_executor pool;
    // For the log; called on the pool.
    std::function<void(Refusal, const IsolationKey&, const InstanceId&)> on_refusal{};
  };
  static Result<std::unique_ptr<CheckpointDirectory>> Open(Options options, const KeyRing& keys);

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
  class Instance;

  CheckpointDirectory(Options options, UniqueFd root, const KeyRing& keys)
      : options_(std::move(options)), root_(std::move(root)), keys_(keys) {}

  // The directory of one instance: its stamp has been checked, and it is locked for as long as it
  // is held.
  Result<Instance> Enter(const IsolationKey& owner, const InstanceId& instance,
                         Missing missing) const;

  const Options options_;
  const UniqueFd root_;
  const KeyRing& keys_;
};

// identity_missing, identity_mismatch.
std::string_view ToString(CheckpointDirectory::Refusal refusal);

}  // namespace caisson
