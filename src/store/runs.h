// The RunStore keeps runs, the journal of their calls, and runs put to sleep.
//
// A run belongs to one replica at a time: it holds a lease with a number, the fence, that grows with every
// claim. All that changes a run names the lease it acts under, and a fence that is no longer the newest is
// refused, so a replica that was thought dead and is not can do no harm.
//
// A call's row is written before its effect starts and finished after (I6):
//
//   pending ──> started ──> returned | raised
//      │           └──────> uncertain ──> started, if the tool is idempotent
//      └──────> denied, or raised: the call was refused and nothing was done
//
// Trust     Contents are opaque bytes. Whatever is wrong with a row's place in this order is refused here.
// Threads   Any executor; nothing blocks it. An operation that was started is finished even if the coroutine
//           awaiting it is cancelled.
// Lifetime  Ends after the operations under way.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"
#include "store/page.h"

namespace caisson {

namespace asio = boost::asio;

enum class RunState { kRunning, kWaiting, kFinished };
enum class CallState { kPending, kStarted, kReturned, kRaised, kDenied, kUncertain };
std::string_view ToString(RunState state);
std::string_view ToString(CallState state);

struct Lease {
  std::string holder;  // Which replica.
  std::int64_t fence = 0;
  // The holder does again what it does not know the end of (kUnavailable), with the same arguments. If it has happened, it
  // succeeds and changes nothing.
  bool repeats = false;
};

struct LeaseTerm {
  std::string holder;
  SystemTime now{};
  SystemTime until{};
};

// The client's name for its request: sent again, the request finds the run that it started.
struct RunKey {
  IdempotencyKey id;
  std::string fingerprint{};  // Of the request. Another request with the same key has another one.
  SystemTime expires_at{};    // The key is forgotten then.
};

struct NewRun {
  RunId id;
  std::string code_digest{};
  std::string request{};  // Code, limits, tools, seed: what replaying needs besides the calls.
  std::optional<RunKey> key{};
};

struct KeyedRun {
  RunId run;
  std::string fingerprint{};
};

struct StoredRun {
  RunId id;
  RunState state = RunState::kRunning;
  std::string code_digest{};
  std::string request{};
  std::string outcome{};  // Of a finished run.
  SystemTime created_at{};
  SystemTime updated_at{};
  bool cancel_asked = false;  // Whoever holds it, or takes it up, is to end it.
  // How often another replica claimed it since it last waited: many, and it is the run that brings its replicas down.
  std::uint32_t attempts = 0;
};

struct Setback {
  SystemTime retry_at{};  // Nobody is shown the run before (StoreMaintenance::ResumableRuns).
  bool counts = true;     // As an attempt. Not if the run has nothing to do with it.
};

// A saved run: sealed bytes and what they can be restored by.
struct SavedRun {
  std::uint32_t seq = 0;
  std::string build{};
  std::string sealed{};
  // It waits for time to pass, and goes on then whether or not somebody has decided.
  std::optional<SystemTime> wake_at{};
  bool waits_for_somebody = true;  // False: for time alone. To others it is under way. Not loaded.
};

struct NewCall {
  std::uint32_t seq = 0;
  std::string tool{};
  std::string tool_digest{};
  std::string arguments{};  // Canonical JSON.
  std::string arguments_digest{};
  std::string idempotency_key{};
  CallState state = CallState::kStarted;  // kPending if a person is asked first.
  std::optional<GrantId> grant{};  // The standing yes by which it starts. Such effects are audited.
  std::string trace{};             // What the code was told before. Gone when the run has finished.
};

struct StoredCall {
  NewCall call{};
  std::string result{};  // Of one that returned or raised.
  SystemTime begun_at{};
  SystemTime updated_at{};
};

struct RunUsage {
  std::uint64_t waiting_runs = 0;
  std::uint64_t saved_bytes = 0;
};

class RunStore {
 public:
  virtual ~RunStore() = default;

  // A run under way, held by the one who makes it. Its key is stored in the same transaction. kFailedPrecondition if
  // there is a run of that id, or with that key: of two requests with one key, one starts a run.
  virtual asio::awaitable<Result<Lease>> Create(IsolationKey owner, NewRun run, LeaseTerm term) = 0;
  virtual asio::awaitable<Result<StoredRun>> Find(IsolationKey owner, RunId id) = 0;
  // The run that was created with this key. kNotFound: there is none, or the key has expired.
  virtual asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key,
                                                      SystemTime now) = 0;
  // Frees the key of a run that could not begin. Of another run's key: nothing happens.
  virtual asio::awaitable<Result<void>> ForgetKey(IsolationKey owner, IdempotencyKey key,
                                                  RunId run) = 0;
  virtual asio::awaitable<Result<Page<StoredRun>>> List(IsolationKey owner,
                                                        std::optional<RunState> state,
                                                        PageQuery query) = 0;

  // Takes a run whose lease is over or given back: an attempt. kFailedPrecondition if it is held or finished.
  virtual asio::awaitable<Result<Lease>> Claim(IsolationKey owner, RunId id, LeaseTerm term) = 0;
  virtual asio::awaitable<Result<void>> Release(IsolationKey owner, RunId id, Lease lease) = 0;
  // The same by one who has got nowhere with it.
  virtual asio::awaitable<Result<void>> Postpone(IsolationKey owner, RunId id, Lease lease,
                                                 Setback setback) = 0;

  // Somebody wants it ended: noted for the one who holds it, or will. A finished run stays as it is.
  virtual asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, RunId id,
                                                    SystemTime now) = 0;

  // The run waits for somebody, or for time to pass, so it has got somewhere: attempts are counted anew. With `saved`, as
  // bytes that replace earlier ones.
  virtual asio::awaitable<Result<void>> Wait(IsolationKey owner, RunId id, Lease lease,
                                             std::optional<SavedRun> saved, SystemTime now) = 0;
  // It goes on; what was saved stays until the next Wait or the end, should this replica die.
  virtual asio::awaitable<Result<void>> Resume(IsolationKey owner, RunId id, Lease lease,
                                               SystemTime now) = 0;
  virtual asio::awaitable<Result<SavedRun>> LoadSaved(IsolationKey owner, RunId id) = 0;
  // The end, at once: outcome and files are kept, saved bytes and the lease are gone, pending approvals
  // cancelled.
  virtual asio::awaitable<Result<void>> Finish(IsolationKey owner, RunId id, Lease lease,
                                               std::string outcome, std::vector<std::string> files,
                                               SystemTime now) = 0;
  virtual asio::awaitable<Result<std::string>> LoadFile(IsolationKey owner, RunId id,
                                                        std::uint32_t number) = 0;
  virtual asio::awaitable<Result<RunUsage>> Usage(IsolationKey owner) = 0;
  // The bytes of the owner's runs: requests, calls, outcomes and files. Of a run under way, as it was when it last waited.
  virtual asio::awaitable<Result<std::uint64_t>> StoredBytes(IsolationKey owner) = 0;

  // The journal. BeginCall returns when the row is durable; only then may an effect start.
  virtual asio::awaitable<Result<void>> BeginCall(IsolationKey owner, RunId id, Lease lease,
                                                  NewCall call, SystemTime now) = 0;
  // pending -> started, and the run goes on. With an approval, that is consumed in the same transaction, and only if it is bound to
  // exactly this call (I5); kFailedPrecondition otherwise, and nothing may be executed.
  virtual asio::awaitable<Result<void>> StartCall(IsolationKey owner, RunId id, Lease lease,
                                                  std::uint32_t seq,
                                                  std::optional<ApprovalId> approval,
                                                  SystemTime now) = 0;
  // uncertain -> started, under the same idempotency key. For tools that are idempotent.
  virtual asio::awaitable<Result<void>> RetryCall(IsolationKey owner, RunId id, Lease lease,
                                                  std::uint32_t seq, SystemTime now) = 0;
  // started -> returned | raised, pending -> denied | raised; a decision about it is noted as delivered and the run goes on.
  virtual asio::awaitable<Result<void>> FinishCall(IsolationKey owner, RunId id, Lease lease,
                                                   std::uint32_t seq, CallState end,
                                                   std::string result, SystemTime now) = 0;
  // After a claim: whatever the replica before had started may have happened. started -> uncertain; says how
  // many.
  virtual asio::awaitable<Result<std::uint32_t>> DoubtStartedCalls(IsolationKey owner, RunId id,
                                                                   Lease lease, SystemTime now) = 0;
  virtual asio::awaitable<Result<std::vector<StoredCall>>> Calls(IsolationKey owner, RunId id) = 0;
};

}  // namespace caisson
