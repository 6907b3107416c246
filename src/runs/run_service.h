// A RunService is the interface of every door to runs: start one, look at it, decide its approvals,
// wait for it, load its files. Each call names the owner; runs of other owners are not found (I3,
// I4).
//
//   // Returns when the run has finished or waits for a decision.
//   auto run = co_await runs.Start(owner, {.code = "send(to='ann')"});
//   // The run then continues by itself.
//   co_await runs.Decide(owner, run->outcome.approvals[0].id, decision);
//   run = co_await runs.Await(owner, run->id, deadline);
//
// Trust     Ids, code and names come from clients and are checked here. Outcomes are hostile
//           content.
// Threads   Any executor. Callbacks arrive on the executor of the run and must not block.
// Lifetime  Close() must have returned before it is destroyed.
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

// Whether a run that ends without having waited is stored.
enum class KeepRun { kYes, kNo };

// Which runs are recorded, so that another process can continue them without repeating a call.
enum class RunJournaling {
  kIfItMayAsk,  // Only if a tool of the setting may need an approval.
  kAlways,
};

// The files of one run take at most this many bytes in all. They are stored with the run.
inline constexpr std::size_t kMaxInputBytes = std::size_t{16} << 20;

struct RunSpec {
  std::string code{};
  // Instead of `code`: the run is one call of a tool of the setting, without a cell. Its outcome
  // has the tool's answer as result or error. Not in a session.
  std::optional<DirectCall> call{};
  // Files below /input that this run reads, besides those of the setting. Not in a session.
  std::vector<InputFile> inputs{};
  RunJournaling journal = RunJournaling::kIfItMayAsk;
  std::optional<std::string> session{};          // A stateful session of this owner.
  Restart restart = Restart::kNo;                // For that session.
  std::optional<std::string> fork_of{};          // The session begins as a copy of this one.
  std::optional<Limits> limits{};                // Never above the setting's maximum.
  std::shared_ptr<const CodeSetting> setting{};  // Null: the service's own, or the named one.
  // The name in JournaledRunsOptions::named_settings, under which another replica finds the setting
  // if the run continues there. Empty: the name that has exactly this setting.
  std::string setting_name{};
  // The caller that its tools act for. Null: no caller in particular.
  std::shared_ptr<const CallerContext> caller{};
  // Stored with the run. A run with a key continues if its client disconnects, because the client
  // can find it again by the key.
  std::optional<RunKey> key{};
  Approvals approvals = Approvals::kAsk;
  KeepRun keep = KeepRun::kYes;  // kNo: only together with an answer to all approvals beforehand.
  Purpose purpose = Purpose::kRun;
  std::function<void(const RunId& id)> on_start{};  // Called before code runs.
  // For a caller that answers approvals itself, with Decide: called once for each call that begins
  // to wait, as early as possible. With it, Start returns only when the run has ended, and output
  // is streamed until then.
  std::function<void(const StoredApproval&)> on_ask{};
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
};

// Validates the session fields of the request. Fails with kInvalidArgument.
Result<void> CheckSession(const RunSpec& run);

struct RunView {
  RunId id;
  RunState state = RunState::kRunning;
  std::string code{};
  std::optional<DirectCall> call{};  // Instead of code.
  std::string setting{};             // Its name; empty: the service's own.
  Limits limits{};
  // Of a run that has not ended: what is known so far; while it waits, with status kWaiting and its
  // approvals. Files may be without their contents; see WithFiles.
  Outcome outcome{};
  SystemTime created_at{};
  SystemTime updated_at{};
  // Of a run that is saved in the store: the size, the build whose workers can restore it, and the
  // time at which it continues by itself, if it sleeps.
  std::uint64_t saved_bytes = 0;
  std::string saved_build{};
  std::optional<SystemTime> wake_at{};
  // What the run did to its session. kNone for a run that has not ended here.
  SessionFate session = SessionFate::kNone;
};

// Returns the approvals that the run waits for.
std::set<std::string> ApprovalIds(const RunView& view);

// Returns the view with the contents of all files. A view of a run that this process holds has
// them. Otherwise each file is loaded by its number: RunService::File, or a store's LoadFile.
using LoadFile = std::function<asio::awaitable<Result<std::string>>(std::uint32_t number)>;
asio::awaitable<Result<RunView>> WithFiles(RunView view, LoadFile load);

class RunService {
 public:
  virtual ~RunService() = default;

  // Returns when the run has finished or waits for a decision. Cancelling the awaiting coroutine
  // cancels the run, unless it waits already or has a key. Fails with kInvalidArgument for limits
  // or names, kResourceExhausted if too many runs are under way, kFailedPrecondition if a run was
  // started with this key before (see FindByKey).
  virtual asio::awaitable<Result<RunView>> Start(IsolationKey owner, RunSpec request) = 0;
  // As Start, but returns as soon as the run is stored.
  virtual asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, RunSpec request) = 0;

  // Fails with kNotFound if this owner has no such run.
  virtual asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) = 0;
  // Returns the run that was started with this key. Fails with kNotFound if there is none.
  virtual asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key) = 0;
  // Of each run only its state, its times, how it ended and its first files (without contents).
  virtual asio::awaitable<Result<Page<RunView>>> List(IsolationKey owner,
                                                      std::optional<RunState> state,
                                                      PageQuery query) = 0;
  // As Find, but returns only when the run has finished, waits for an approval that is not among
  // `known`, or `deadline` has come. `known` are the approvals that this caller has seen; what
  // another caller has seen never delays this one.
  virtual asio::awaitable<Result<RunView>> Await(
      IsolationKey owner, RunId id, std::set<std::string> known,
      std::chrono::steady_clock::time_point deadline) = 0;
  // Ends a run, also a waiting one, and returns when it has ended. A finished run stays as it is.
  virtual asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) = 0;
  // Returns the contents of the outcome's file number `number`, from 0.
  virtual asio::awaitable<Result<std::string>> File(IsolationKey owner, RunId id,
                                                    std::uint32_t number) = 0;

  virtual asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner,
                                                               ApprovalId id) = 0;
  // As ApprovalStore::List: long arguments are omitted.
  virtual asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(
      IsolationKey owner, std::optional<ApprovalState> state, PageQuery query) = 0;
  // Returns the tool that the approval is about, to check changes of its arguments with. Fails with
  // kNotFound if there is no such approval, kFailedPrecondition if the tool is not here.
  virtual asio::awaitable<Result<std::shared_ptr<const Tool>>> FindTool(IsolationKey owner,
                                                                        ApprovalId id);
  // As ApprovalDesk::Decide. The run continues by itself, here or on the replica that holds it.
  virtual asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                         Answer answer) = 0;
  // Lists the grants of this owner; revokes one.
  virtual asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner) = 0;
  virtual asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id,
                                                    std::string by) = 0;

  // Parks runs in the store if they can be saved, and cancels the others. Can be called any number
  // of times.
  virtual asio::awaitable<void> Close() = 0;
};

}  // namespace caisson
