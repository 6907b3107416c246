// A RunJournal records the calls of one run, under one lease. A call is stored before it has an
// effect, and its answer is stored before the code gets it (I6). A call that needs an approval
// waits for it. A call that was recorded before is not executed again.
//
// A run that is replayed, or continues from an older copy of its cell, repeats its calls. They must
// have the recorded tools and arguments, and get the recorded answers in the recorded order. The
// first call that differs makes the run `diverged`: nothing more is done for it. New calls are
// executed only when all recorded calls have been made again.
//
// Trust     Calls are an attacker's. The store is trusted about what happened. Approvals are
//           checked there, against exactly this call (I5).
// Threads   Before, Start, After, Park and Freeze on the executor of the run's cell; the others on
//           any.
// Lifetime  Shared by the run and its calls. The stores outlive it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "approval/desk.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "engine/outcome.h"
#include "identity/identity.h"
#include "runs/journal/records.h"
#include "runs/journal/total_usage.h"
#include "store/patience.h"
#include "store/store.h"
#include "tools/call_journal.h"

namespace caisson {

// Limits of waiting runs. Above them no approval is requested, and the code gets a denial.
struct WaitingLimits {
  std::uint64_t runs = 10'000;  // For one owner.
  std::uint64_t saved_bytes = std::uint64_t{1} << 30;
  std::uint64_t runs_in_all = 100'000;
  std::uint64_t saved_bytes_in_all = std::uint64_t{16} << 30;
};

// Limit of the arguments, answers and traces of one run's calls in the store ([runs]
// max_journal_bytes). Above it the run ends.
inline constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{64} << 20;

struct JournalOptions {
  Store& store;
  ApprovalDesk& desk;
  const Clock& clock;
  IsolationKey owner;
  RunId run;
  Lease lease;
  std::string code_digest{};
  WaitingLimits waiting{};
  std::uint64_t max_bytes = kMaxJournalBytes;
  TotalUsage* total = nullptr;        // Null: the totals of all owners are not bounded.
  StorePatience* patience = nullptr;  // null: a store failure ends the run (kLost).
  std::vector<StoredCall> recorded{};
  // Called once for each call that begins to wait for a decision, on the cell's executor. Must not
  // block. The approval has its arguments.
  std::function<void(const StoredApproval&)> on_ask{};
  // Called after each change of what the run waits for, on the cell's executor, and not from Park.
  std::function<void()> on_change{};
};

// Chooses the arguments that one outcome shows: of each call only so many bytes, and of all calls
// together (engine/outcome.h).
class ShownArguments {
 public:
  // Returns the text, or nothing if it is too long or there is no room left for it.
  std::string_view Show(std::string_view text);

 private:
  std::size_t left_ = kMaxOutcomeArgumentsBytes;
};

// The calls as an outcome shows them.
std::vector<OutcomeCall> ToOutcome(const std::vector<StoredCall>& calls);
// The approval as an outcome shows it, with these arguments.
OutcomeApproval ToOutcome(const StoredApproval& approval, std::string_view arguments);

class RunJournal final : public CallJournal {
 public:
  enum class Fault {
    kNone,
    kDiverged,  // The code made another call than the recorded one.
    kLimit,     // Its calls exceed JournalOptions::max_bytes.
    kLost,      // Another process holds the run, or we close while the store cannot be written.
  };

  explicit RunJournal(JournalOptions options);

  void Expect(std::uint32_t seq) override;
  asio::awaitable<CallDecision> Before(JournaledCall call) override;
  asio::awaitable<bool> Start(std::uint32_t seq) override;
  asio::awaitable<std::optional<SystemTime>> After(std::uint32_t seq,
                                                   const ToolAnswer& answer) override;

  // The run is in this session, so an approval may hold for the session. Called before the first
  // call.
  void EnterSession(CallSession session);

  // Whether the run is under way and every open call waits for a decision. waits(): there is at
  // least one such call.
  bool quiet() const;
  bool waits() const;
  // Whether open calls wait only for the store, or for the store and for decisions.
  bool stalls() const;
  // Grows with every change of the open calls.
  std::uint64_t changes() const;
  // The number of calls that the run has made.
  std::uint32_t made() const;
  // Stores that the run waits, and `saved`. Decisions take effect before or after this, not
  // meanwhile.
  asio::awaitable<Result<void>> Park(std::optional<SavedRun> saved);
  // From now on no waiting call continues in this process, whatever is decided.
  void Freeze();
  // The run has ended: calls no longer wait for the record.
  void Stop();

  // Reads from the store whether the approvals that calls wait for have been decided; such calls
  // continue.
  asio::awaitable<void> ReadDecisions();

  Fault fault() const;
  std::string fault_text() const;
  // Whether all recorded calls have been made again.
  bool caught_up() const;
  std::vector<OutcomeCall> calls() const;
  std::vector<OutcomeApproval> approvals() const;  // The pending ones.

 private:
  struct Entry {
    // Has no arguments once the code has made the call in this process. A new call that needs no
    // approval has no row before Start().
    StoredCall stored{};
    std::shared_ptr<const CanonicalArguments> arguments{};  // Shared with the bridge.
    bool asked = false;                                     // The code has made it in this process.
    bool asking = false;                                    // Its approval is being stored.
    bool waits = false;                                     // For a person.
    std::optional<StoredApproval> approval{};               // Has no asked arguments.

    std::string_view text() const {
      return arguments ? std::string_view(arguments->text) : stored.call.arguments;
    }
  };
  struct State {
    std::map<std::uint32_t, Entry> entries;
    std::vector<std::uint32_t> order;  // Order of the recorded answers.
    std::size_t given = 0;             // Number of them that the code has received.
    std::size_t unasked = 0;           // Recorded calls that the code has not made again yet.
    std::set<std::uint32_t> expected;  // Calls made that Before has not seen yet.
    std::size_t open = 0;              // Calls made and not answered.
    std::size_t waiting = 0;           // Those of them that wait for a person.
    std::size_t stalled = 0;           // Those of them that wait until the store can be written.
    std::uint32_t made = 0;
    std::uint64_t changes = 0;
    std::uint64_t stored_bytes = 0;                 // Counts against max_bytes.
    std::size_t kept_bytes = 0;                     // Arguments of answered calls, for the outcome.
    SystemTime last{};                              // The newest time the code was told.
    std::map<std::uint32_t, std::string> unstored;  // The traces of calls that have no row yet.
    bool parking = false;
    bool frozen = false;
    bool stopped = false;
    Fault fault = Fault::kNone;
    std::string fault_text;
    std::optional<CallSession> session;
    std::vector<std::shared_ptr<Wakeup>> sleepers;
    // Per tool, so that a definition is hashed once and not for each call.
    std::map<std::shared_ptr<const Tool>, Result<std::string>> tool_digests;
  };
  // A call in the form in which it is recorded.
  struct Written {
    NewCall call;
    std::optional<ToolRaised> refused;
  };

  std::string IdempotencyKeyOf(std::uint32_t seq) const;
  Written Write(const JournaledCall& call);
  asio::awaitable<CallDecision> BeginNew(const JournaledCall& call, Written written);
  asio::awaitable<CallDecision> BeginAgain(const JournaledCall& call, const Written& written);
  asio::awaitable<CallDecision> BeginRefused(Written written,
                                             std::shared_ptr<const CanonicalArguments> arguments);
  // Counts bytes that will be stored. Returns false, and counts nothing, if there is no room for
  // them.
  bool Charge(std::uint64_t bytes);
  CallDecision FailFull();
  asio::awaitable<Result<void>> AddRow(NewCall call,
                                       std::shared_ptr<const CanonicalArguments> arguments);
  std::string TakeTrace(std::uint32_t seq);
  asio::awaitable<CallDecision> Retry(const JournaledCall& call,
                                      std::optional<EditedArguments> edited);
  asio::awaitable<Result<void>> Judge(const JournaledCall& call, NewCall& row);
  asio::awaitable<CallDecision> AskAndWait(std::uint32_t seq);
  asio::awaitable<Result<void>> CheckWaiting();
  CallDecision NotAsked(const Error& why);
  asio::awaitable<Result<StoredApproval>> Ask(std::uint32_t seq);
  asio::awaitable<CallDecision> GiveRecorded(std::uint32_t seq);

  // Repeats a store operation until it succeeds. Gives up when the run has ended or has a fault,
  // unless `need` is kAlways.
  enum class Need { kWhileUnderWay, kAlways };
  template <typename T>
  asio::awaitable<Result<T>> Insist(StorePatience::Operation<T> operation,
                                    Need need = Need::kWhileUnderWay);
  void Stall(bool begins);
  std::vector<ApprovalId> Undecided() const;
  void Decide(const StoredApproval& approval);
  // Waits until `ready`. Returns false if the run has ended, has a fault, or the call was
  // cancelled.
  asio::awaitable<bool> Until(std::function<bool(const State&)> ready);
  CallDecision Fail(Fault fault, std::string why);
  CallDecision Lose(const Error& error);
  void Wake();
  void Changed();
  static void Open(State& state, std::uint32_t seq);
  static void SetApproval(Entry& entry, StoredApproval approval);
  // A call that has its approval, with the arguments to execute it with.
  CallDecision Go(std::uint32_t seq, const std::optional<EditedArguments>& edited) const;
  void Close(std::uint32_t seq);
  SystemTime NextTime(State& state) const;
  RunStore& runs() const { return options_.store.runs(); }

  JournalOptions options_;  // Constant, without `recorded`.
  mutable Guarded<State> state_;
};

}  // namespace caisson
