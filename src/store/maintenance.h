// StoreMaintenance is the host's own view, across all owners. Only the server has it; no door does (I3).
//
// Trust     Ours alone.
// Threads   As RunStore. Replicas may do the same at the same time.
// Lifetime  As RunStore.
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

// How long things are kept after they were last touched.
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

  // Runs that nobody holds and that have something ahead of them: under way when their replica died; waiting for
  // nothing any more because somebody has decided, or the time has come (SavedRun::wake_at); to be cancelled; or waiting
  // in the memory of a replica that is gone.
  // Not those whose setback is too fresh, unless they are to be cancelled. Claim one before touching it.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> ResumableRuns(SystemTime now,
                                                                       std::uint32_t limit) = 0;
  // Runs that `holder` holds and that wait, though somebody has decided, elsewhere perhaps.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> DecidedRuns(std::string holder,
                                                                     std::uint32_t limit) = 0;
  // Runs that `holder` holds and that somebody, elsewhere perhaps, wants ended.
  virtual asio::awaitable<Result<std::vector<OwnedRun>>> RunsToCancel(std::string holder,
                                                                      std::uint32_t limit) = 0;
  // Extends the leases to `until`. Returns the runs that are no longer held under theirs.
  virtual asio::awaitable<Result<std::vector<HeldRun>>> Renew(std::vector<HeldRun> held,
                                                              SystemTime until) = 0;
  // What waits, of everybody.
  virtual asio::awaitable<Result<RunUsage>> Usage() = 0;
  // pending -> expired, for those whose time is over. Silence is never consent.
  virtual asio::awaitable<Result<std::vector<ExpiredApproval>>> ExpireApprovals(
      SystemTime now, std::uint32_t limit) = 0;
  // Drops what is older than its retention. Never a run that has not finished, nor what belongs to it: its calls,
  // approvals and saved bytes; never the audit log.
  virtual asio::awaitable<Result<SweepReport>> Sweep(Retention retention, SystemTime now) = 0;
  // Writes something that changes nothing. Fails as any other write would now.
  virtual asio::awaitable<Result<void>> CheckWritable() = 0;
  // Where everybody's audit log ends.
  virtual asio::awaitable<Result<std::vector<OwnedAuditHead>>> AuditHeads() = 0;
};

}  // namespace caisson
