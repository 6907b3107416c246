// A RunService is what every door sees of runs: start one, look at it, decide what it asks, wait for it, fetch its
// files. Each call names the owner, and what belongs to another is not there (I3, I4).
//
//   auto run = co_await runs.Start(owner, {.code = "send(to='ann')"});     // finished, or waiting for somebody
//   co_await runs.Decide(owner, run->outcome.approvals[0].id, decision);   // it goes on by itself
//   run = co_await runs.Await(owner, run->id, deadline);
//
// Trust     Ids, code and names come from clients; all of it is checked here. Outcomes stay hostile content.
// Threads   Any executor; callbacks arrive on the run's own and must not block.
// Lifetime  Close() must have returned before it goes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "approval/desk.h"
#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "engine/outcome.h"
#include "identity/identity.h"
#include "runs/cells/code_runner.h"
#include "store/approvals.h"
#include "store/ids.h"
#include "store/page.h"
#include "store/runs.h"

namespace caisson {

// How the calls of a run that need approval get one.
enum class Approvals {
  kAsk,   // Each waits for a decision, from any door.
  kAll,   // The caller has approved all calls of the run beforehand.
  kNone,  // They are denied.
};

struct RunSpec {
  std::string code;
  std::optional<std::string> session{};          // A stateful session of this owner.
  Restart restart = Restart::kNo;                // Of that session.
  std::optional<std::string> fork_of{};          // What that session begins as a copy of.
  std::optional<Limits> limits{};                // Never above the setting's ceiling.
  std::shared_ptr<const CodeSetting> setting{};  // Nothing: the service's own.
  // Whom its tools act for, for as long as it lasts; nothing: nobody in particular.
  std::shared_ptr<const CallerContext> context{};
  // Stored together with the run. A run with a key goes on when its client leaves: the client can find it again.
  std::optional<RunKey> key{};
  Approvals approvals = Approvals::kAsk;
  Purpose purpose = Purpose::kRun;
  std::function<void(const RunId& id)> on_start{};  // Before anything is executed.
  // For a caller that answers approvals itself, with Decide: called once for each call that begins
  // to wait, as early as possible. With it, Start returns only when the run has ended, and output
  // is streamed until then.
  std::function<void(const StoredApproval&)> on_ask{};
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
};

// Whether what is said of its session can be meant. kInvalidArgument.
Result<void> CheckSession(const RunSpec& run);

struct RunView {
  RunId id;
  RunState state = RunState::kRunning;
  std::string code{};
  Limits limits{};
  // Of a run under way: what is known so far, of a waiting one with status kWaiting and its approvals. Files may be without
  // their contents: see WithFiles.
  Outcome outcome{};
  SystemTime created_at{};
  SystemTime updated_at{};
  std::uint64_t saved_bytes = 0;        // Of a run that sleeps in the store.
  std::string saved_build{};            // And which build's workers can take it up from there.
  std::optional<SystemTime> wake_at{};  // And when it goes on by itself, if it sleeps.
  // What the run did to its session. kNone for a run that has not ended here.
  SessionFate session = SessionFate::kNone;
};

// The approvals that the run waits for.
std::set<std::string> ApprovalIds(const RunView& view);

// The view with the contents of all files. Views have them while the run is at hand; of one that has ended before, each is
// loaded by its number: RunService::File, or a store's LoadFile.
using LoadFile = std::function<asio::awaitable<Result<std::string>>(std::uint32_t number)>;
asio::awaitable<Result<RunView>> WithFiles(RunView view, LoadFile load);

class RunService {
 public:
  virtual ~RunService() = default;

  // Returns when the run has finished or waits for somebody. Cancelling the awaiting coroutine cancels the run,
  // unless it waits already or has a key. kInvalidArgument: limits or names; kResourceExhausted: too much is under way;
  // kFailedPrecondition: a run was started with this key before (see FindByKey).
  virtual asio::awaitable<Result<RunView>> Start(IsolationKey owner, RunSpec request) = 0;
  // The same, but returns as soon as the run is stored.
  virtual asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, RunSpec request) = 0;

  // kNotFound: no such run of this owner.
  virtual asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) = 0;
  // The run that was started with this key. kNotFound: there is none.
  virtual asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key) = 0;
  virtual asio::awaitable<Result<Page<RunView>>> List(IsolationKey owner,
                                                      std::optional<RunState> state,
                                                      PageQuery query) = 0;
  // As Find, but not before the run has finished, waits for an approval that is not among `known`, or `deadline` has
  // come. `known` are the approvals that this caller has seen: what another caller has seen never delays this one.
  virtual asio::awaitable<Result<RunView>> Await(
      IsolationKey owner, RunId id, std::set<std::string> known,
      std::chrono::steady_clock::time_point deadline) = 0;
  // Also of a waiting run. One that has finished stays as it is. Returns when it has ended.
  virtual asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) = 0;
  // The contents of the outcome's file number `number`, from 0.
  virtual asio::awaitable<Result<std::string>> File(IsolationKey owner, RunId id,
                                                    std::uint32_t number) = 0;

  virtual asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner,
                                                               ApprovalId id) = 0;
  virtual asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(
      IsolationKey owner, std::optional<ApprovalState> state, PageQuery query) = 0;
  // As ApprovalDesk::Decide; the run goes on by itself, here or on the replica that has it.
  virtual asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                         Answer answer) = 0;
  // The standing yeses of this owner; taking one back.
  virtual asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner) = 0;
  virtual asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id,
                                                    std::string by) = 0;

  // Runs under way are parked in the store where they can be, cancelled where not. Any number of times.
  virtual asio::awaitable<void> Close() = 0;
};

}  // namespace caisson
