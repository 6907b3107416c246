// StoreMaintenance is the host's view across all owners. Only the server has it; no door does (I3).
//
// Trust     For the server only.
// Threads   Same as RunStore. Replicas may do the same at the same time.
// Lifetime  Same as RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/audit.h"
#include "store/ids.h"
#include "store/runs.h"
#include "store/turns.h"

namespace caisson {

namespace asio = boost::asio;

struct OwnedRun {
  IsolationKey owner;
  RunId run;
};

struct HeldRun {
  IsolationKey owner;
  RunId run;
  Lease lease;
};

struct ExpiredApproval {
  IsolationKey owner;
  ApprovalId approval;
  RunId run;
};

struct OwnedAuditHead {
  IsolationKey owner;
  AuditHead head;
};

// How long data is kept after its last use.
struct Retention {
  std::chrono::seconds finished_runs = std::chrono::hours(24 * 30);
  std::chrono::seconds responses = std::chrono::hours(24 * 30);  // Conversations too.
  std::chrono::seconds documents = std::chrono::hours(24 * 30);
  std::chrono::seconds checkpoints = std::chrono::hours(24 * 30);
};

struct SweepReport {
  std::int64_t runs = 0;
  std::int64_t responses = 0;
  std::int64_t documents = 0;
  std::int64_t checkpoints = 0;
  std::int64_t idempotency_keys = 0;
};

class StoreMaintenance {
 public:
  virtual ~StoreMaintenance() = default;

  // Returns runs that no replica holds and that can continue: their replica died while they ran;
  // their decision or wake-up time (SavedRun::wake_at) has come; they are to be cancelled; or they
  // waited in the memory of a replica that is gone. Leaves out runs with a recent setback, unless
  // they are to be cancelled. Claim a run before changing it.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> ResumableRuns(SystemTime now,
                                                                       std::uint32_t limit) = 0;
  // Returns waiting runs of `holder` for which a decision exists, possibly made by another process.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> DecidedRuns(std::string holder,
                                                                     std::uint32_t limit) = 0;
  // Returns runs of `holder` that were asked to be cancelled, possibly by another process.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> RunsToCancel(std::string holder,
                                                                      std::uint32_t limit) = 0;
  // Extends the leases to `until`. Returns the runs whose lease is no longer valid.
  virtual asio::awaitable<Result<std::vector<HeldRun>>> Renew(std::vector<HeldRun> held,
                                                              SystemTime until) = 0;
  // Returns turns whose replica is gone. Claim a turn before changing it.
  virtual asio::awaitable<Result<std::vector<OwnedTurn>>> TurnsToTake(SystemTime now,
                                                                      std::uint32_t limit) = 0;
  // Returns turns of `holder` that were asked to be cancelled, possibly by another process.
  virtual asio::awaitable<Result<std::vector<OwnedTurn>>> TurnsToCancel(std::string holder,
                                                                        std::uint32_t limit) = 0;
  // Extends the leases of all turns and conversations that `holder` still holds.
  virtual asio::awaitable<Result<void>> RenewTurns(std::string holder, SystemTime until) = 0;
  // Returns the number and size of all waiting runs, of all owners.
  virtual asio::awaitable<Result<RunUsage>> Usage() = 0;
  // pending -> expired, for overdue approvals. Silence is never consent.
  virtual asio::awaitable<Result<std::vector<ExpiredApproval>>> ExpireApprovals(
      SystemTime now, std::uint32_t limit) = 0;
  // Removes data older than its retention. Never removes an unfinished run or its calls, approvals
  // and saved bytes, and never the audit log.
  virtual asio::awaitable<Result<SweepReport>> Sweep(Retention retention, SystemTime now) = 0;
  // Makes a write without effect. Fails if writes fail now.
  virtual asio::awaitable<Result<void>> CheckWritable() = 0;
  // Returns the end of every owner's audit log.
  virtual asio::awaitable<Result<std::vector<OwnedAuditHead>>> AuditHeads() = 0;
};

}  // namespace caisson
