// The RunStore keeps runs, the journal of their calls, and saved runs.
//
// A run belongs to one replica at a time. The replica holds a lease with a number, the fence, that
// grows with every claim. Every change of a run names its lease, and an outdated fence is refused.
// So a replica that was wrongly considered dead can do no harm.
//
// A call's row is written before its effect starts and finished after (I6):
//
//   pending ──> started ──> returned | raised
//      │           └──────> uncertain ──> started, if the tool is idempotent
//      └──────> denied, or raised: the call was refused and nothing was done
//
// Trust     Contents are opaque bytes. Transitions outside of this order are refused here.
// Threads   Any executor; calls do not block it. A started operation is finished even if the
//           coroutine awaiting it is cancelled.
// Lifetime  Outlives its operations.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/edited_arguments.h"
#include "store/ids.h"
#include "store/page.h"

namespace caisson {

namespace asio = boost::asio;

enum class RunState { kRunning, kWaiting, kFinished };
enum class CallState { kPending, kStarted, kReturned, kRaised, kDenied, kUncertain };
std::string_view ToString(RunState state);
std::string_view ToString(CallState state);

struct Lease {
  std::string holder;  // The replica.
  std::int64_t fence = 0;
  // The holder repeats an operation whose result it does not know (kUnavailable), with the same
  // arguments. If the operation had happened, the repetition succeeds and changes nothing.
  bool repeats = false;
};

struct LeaseTerm {
  std::string holder;
  SystemTime now{};
  SystemTime until{};
};

// The client's key for its request. A repeated request with the same key finds the run that the
// first one started.
struct RunKey {
  IdempotencyKey id;
  // Of the request. A different request with the same key has a different one.
  std::string fingerprint{};
  SystemTime expires_at{};  // The key is removed then.
};

struct NewRun {
  RunId id;
  std::string code_digest{};
  // Code, limits, tools, seed: the data that a replay needs besides the calls.
  std::string request{};
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
  std::string outcome{};  // For a finished run.
  SystemTime created_at{};
  SystemTime updated_at{};
  bool cancel_asked = false;  // The current or next holder must end the run.
  // How often another replica took it up since it last waited. A high number means that the run
  // crashes its replicas.
  std::uint32_t attempts = 0;
};

// What a list shows of a run.
struct ListedRun {
  RunId id;
  RunState state = RunState::kRunning;
  // RunEnd::summary. Empty for a run that has not finished, or that was finished by a version
  // without summaries.
  std::string summary{};
  SystemTime created_at{};
  SystemTime updated_at{};
  std::uint64_t saved_bytes = 0;  // Size of SavedRun::sealed.
  std::string saved_build{};
  std::optional<SystemTime> wake_at{};
};

// What is kept of a finished run.
struct RunEnd {
  std::string outcome{};
  // A short extract of the outcome for lists, which never load the outcome itself.
  std::string summary{};
  std::vector<std::string> files{};
};

struct Setback {
  SystemTime retry_at{};  // ResumableRuns does not return the run before this time.
  bool counts = true;     // As an attempt. False if the run did not cause the setback.
};

// A saved run: sealed bytes, and what is needed to restore them.
struct SavedRun {
  std::uint32_t seq = 0;
  std::string build{};
  std::string sealed{};
  // It waits for this time, and then continues even without a decision.
  std::optional<SystemTime> wake_at{};
  // False: it waits for time only, and others see it as running. Not loaded.
  bool waits_for_somebody = true;
};

struct NewCall {
  std::uint32_t seq = 0;
  std::string tool{};
  std::string tool_digest{};
  std::string arguments{};  // Canonical JSON.
  std::string arguments_digest{};
  std::string idempotency_key{};
  CallState state = CallState::kStarted;  // kPending if a person must be asked first.
  std::optional<GrantId> grant{};         // The grant by which it starts. Such effects are audited.
  // Recorded input of the code before this call. Removed when the run has finished.
  std::string trace{};
};

struct StoredCall {
  NewCall call{};
  // The call was started with these in place of NewCall::arguments.
  std::optional<EditedArguments> edited{};
  std::string result{};  // For calls that returned or raised.
  SystemTime begun_at{};
  SystemTime updated_at{};
};

// The approval by which a call starts, and the digest of the edited arguments with which it is
// executed; empty: as asked.
struct ApprovalUse {
  ApprovalUse(ApprovalId used, std::string edited = {})  // NOLINT: implicit
      : id(std::move(used)), edited_digest(std::move(edited)) {}

  ApprovalId id;
  std::string edited_digest;
};

struct RunUsage {
  std::uint64_t waiting_runs = 0;
  std::uint64_t saved_bytes = 0;
};

class RunStore {
 public:
  virtual ~RunStore() = default;

  // Creates a running run, held by its creator. Its key is stored in the same transaction. Fails
  // with kFailedPrecondition if the id or the key exists: of two requests with one key, only one
  // starts a run.
  virtual asio::awaitable<Result<Lease>> Create(IsolationKey owner, NewRun run, LeaseTerm term) = 0;
  virtual asio::awaitable<Result<StoredRun>> Find(IsolationKey owner, RunId id) = 0;
  // Returns the run that was created with this key. Fails with kNotFound if there is none or the
  // key has expired.
  virtual asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key,
                                                      SystemTime now) = 0;
  // Frees the key of a run that could not begin. Does nothing if the key belongs to another run.
  virtual asio::awaitable<Result<void>> ForgetKey(IsolationKey owner, IdempotencyKey key,
                                                  RunId run) = 0;
  virtual asio::awaitable<Result<Page<ListedRun>>> List(IsolationKey owner,
                                                        std::optional<RunState> state,
                                                        PageQuery query) = 0;

  // Takes a run whose lease has expired or was given back, and counts an attempt. The attempt stays
  // counted once the holder has changed the run. Until then another claim does not count: the
  // holder could not use the store, or died before it did anything with the run. Fails with
  // kFailedPrecondition if the run is held or finished.
  virtual asio::awaitable<Result<Lease>> Claim(IsolationKey owner, RunId id, LeaseTerm term) = 0;
  virtual asio::awaitable<Result<void>> Release(IsolationKey owner, RunId id, Lease lease) = 0;
  // The same for a holder that made no progress.
  virtual asio::awaitable<Result<void>> Postpone(IsolationKey owner, RunId id, Lease lease,
                                                 Setback setback) = 0;

  // Records a request to cancel, for the current or next holder. A finished run stays unchanged.
  virtual asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, RunId id,
                                                    SystemTime now) = 0;

  // The run waits for a decision or for time to pass. It made progress, so attempts are reset.
  // `saved`: bytes that replace earlier ones.
  virtual asio::awaitable<Result<void>> Wait(IsolationKey owner, RunId id, Lease lease,
                                             std::optional<SavedRun> saved, SystemTime now) = 0;
  // The run continues. Saved bytes stay until the next Wait or the end, in case this replica dies.
  virtual asio::awaitable<Result<void>> Resume(IsolationKey owner, RunId id, Lease lease,
                                               SystemTime now) = 0;
  virtual asio::awaitable<Result<SavedRun>> LoadSaved(IsolationKey owner, RunId id) = 0;
  // Ends the run in one step: keeps outcome and files, removes saved bytes and the lease, cancels
  // pending approvals.
  // `end` is shared because it can be large and the operation may be repeated.
  virtual asio::awaitable<Result<void>> Finish(IsolationKey owner, RunId id, Lease lease,
                                               std::shared_ptr<const RunEnd> end,
                                               SystemTime now) = 0;
  virtual asio::awaitable<Result<std::string>> LoadFile(IsolationKey owner, RunId id,
                                                        std::uint32_t number) = 0;
  virtual asio::awaitable<Result<RunUsage>> Usage(IsolationKey owner) = 0;
  // The bytes of the owner's runs: requests, calls, outcomes and files. Of a run under way, as it
  // was when it last waited.
  virtual asio::awaitable<Result<std::uint64_t>> StoredBytes(IsolationKey owner) = 0;

  // The journal. BeginCall returns when the row is durable; only then may an effect start.
  virtual asio::awaitable<Result<void>> BeginCall(IsolationKey owner, RunId id, Lease lease,
                                                  NewCall call, SystemTime now) = 0;
  // pending -> started, and the run continues. An approval is consumed in the same transaction, and
  // only if it is bound to exactly this call and the arguments that are executed (I5). Otherwise
  // fails with kFailedPrecondition, and nothing may be executed.
  virtual asio::awaitable<Result<void>> StartCall(IsolationKey owner, RunId id, Lease lease,
                                                  std::uint32_t seq,
                                                  std::optional<ApprovalUse> approval,
                                                  SystemTime now) = 0;
  // uncertain -> started, under the same idempotency key. For idempotent tools only.
  virtual asio::awaitable<Result<void>> RetryCall(IsolationKey owner, RunId id, Lease lease,
                                                  std::uint32_t seq, SystemTime now) = 0;
  // started -> returned | raised, pending -> denied | raised. A decision about the call is marked
  // as delivered, and the run continues.
  virtual asio::awaitable<Result<void>> FinishCall(IsolationKey owner, RunId id, Lease lease,
                                                   std::uint32_t seq, CallState end,
                                                   std::string result, SystemTime now) = 0;
  // After a claim: calls that the previous replica started may have happened. started -> uncertain.
  // Returns their number.
  virtual asio::awaitable<Result<std::uint32_t>> DoubtStartedCalls(IsolationKey owner, RunId id,
                                                                   Lease lease, SystemTime now) = 0;
  virtual asio::awaitable<Result<std::vector<StoredCall>>> Calls(IsolationKey owner, RunId id) = 0;
};

}  // namespace caisson
