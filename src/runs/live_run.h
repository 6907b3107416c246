// A LiveRun is one run while this process holds it: it has a cell, or waits for one, and everybody who asks about the run
// asks here.
//
// When all its open calls wait for a person, the cell is copied into the store, sealed, and stays in memory as well: from
// then on the run outlives this process, and a decision that comes soon finds it warm. A run whose cell cannot be copied
// (engine native, a session) waits in memory alone and is lost with it. The same is done when the code begins a long sleep.
//
// The wall limit counts while the code computes, sleeps or awaits a tool. It does not count while the code awaits nothing
// but people, even if it has set a time-out beside that. A sleep counts in full and never more, whether or not a host was up
// meanwhile.
//
// When its worker is lost, by whichever run's fault, a run that waited sleeps in the store, and one that was under way goes
// on from there, once: what it had called is not done again. A second worker lost ends it as `crashed`.
//
// Trust     What the cell says is hostile; see ToolBridge. What is saved is sealed before it leaves.
// Threads   Any, unless said otherwise. The cell is touched on its own executor alone.
// Lifetime  Shared by the service and those who wait; Live() keeps it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/spawn.h"
#include "base/wakeup.h"
#include "runs/cells/wall_limit.h"
#include "runs/journal/records.h"
#include "runs/journal/run_journal.h"
#include "runs/run_resources.h"
#include "runs/run_service.h"

namespace caisson {

// What a run is and how it comes to be here.
struct LiveRunStart {
  IsolationKey owner;
  RunId id;
  RunRecord record{};
  std::shared_ptr<const CodeSetting> setting{};
  std::shared_ptr<const CallerContext> context{};
  std::optional<Lease> lease{};  // Nothing: not in the store yet.
  SystemTime created_at{};
  Restart restart = Restart::kNo;        // Of the record's session.
  std::optional<std::string> fork_of{};  // The same.
  // Of a run that was under way before.
  bool resumed = false;
  std::uint32_t attempts = 0;  // At taking it up; see StoredRun.
  std::vector<StoredCall> recorded{};
  std::vector<TracePart> trace{};  // What the code was told before these calls, in order.
  std::optional<SleepRecord> sleep{};
  std::uint32_t sleep_seq = 0;             // How many calls it had made when it fell asleep.
  std::optional<CellBuild> sleep_build{};  // Whose cell it slept in.
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
  // Of a new run, as in RunSpec. A run whose calls may be asked about has no consent, so consent is
  // never taken along to another process.
  std::function<void(const StoredApproval&)> on_ask{};
  Consent consent = Consent::kNone;
  Purpose purpose = Purpose::kRun;
  std::optional<RunKey> key{};  // Of a new run.
};

class LiveRun final : public RunObserver, public std::enable_shared_from_this<LiveRun> {
 public:
  struct News {
    RunView view;
    std::uint64_t version = 0;
    bool gone = false;  // Not here any more; without an end, it is in the store.
    bool ended = false;
    std::optional<Error> error{};  // It could not be run at all.
  };

  struct Parked {
    SystemTime since{};
    std::uint64_t bytes = 0;  // What it changed in memory, as it was saved.
  };

  LiveRun(const RunResources& resources, LiveRunStart start, const asio::any_io_executor& executor);

  // From where it is to its end, or until it is elsewhere. Once.
  asio::awaitable<void> Live();

  News news() const;
  // Returns when there is news after `version`, or at `deadline`. kCancelled: so was the waiting coroutine.
  asio::awaitable<Wakeup::Reason> AwaitNews(std::uint64_t version, RunClock::Time deadline);
  void StopStreaming() {
    *on_output_.Lock() = nullptr;
    *on_progress_.Lock() = nullptr;
  }

  // Reads decisions on the approvals of `run` from the store; the run continues if it can.
  static asio::awaitable<void> ReadDecisions(std::shared_ptr<LiveRun> run);
  void Cancel();
  // To sleep, if it waits and was saved. Nothing otherwise.
  void Evict();
  // Another has it: nothing more happens to it here.
  void Abandon();

  // If it waits in memory and could sleep.
  std::optional<Parked> parked() const;
  // It has a cell that computes, or waits for one. Not: it waits for a person, or has ended.
  bool needs_cell() const;
  const LiveRunStart& start() const { return start_; }
  bool was_stored_first() const { return stored_first_; }  // And has its lease all the time.
  bool fell_asleep() const { return asleep_; }             // Once Live() has returned.
  // The same: it waits for time alone, and must be taken up again then.
  std::optional<SystemTime> wake_by() const { return wake_by_; }
  const Stop& stop() const { return stop_; }  // Of Live().

  void OnCell(Cell& cell, const std::optional<SessionId>& session) override;
  void OnSleep(std::optional<HostTime> until) override;
  void OnEnd(Result<Outcome>& outcome) override;
  asio::awaitable<void> LetGo() override;

 private:
  struct Awaited {
    RunView view;
    bool sleeps =
        false;  // The view says that it is under way; it waits for time alone, and could sleep.
    std::uint64_t version = 1;
    bool gone = false;
    bool ended = false;
    std::optional<Error> error{};
    std::vector<std::shared_ptr<Wakeup>> waiting{};
    std::size_t heard_stdout = 0;  // How much of its output whoever listens has been told.
    std::size_t heard_stderr = 0;
  };

  bool is_durable() const { return start_.lease && start_.record.seed; }
  bool can_be_saved() const { return is_durable() && !start_.record.session; }
  // When its cell went it was parked, and is in the store as it was then.
  bool waits_in_store() const { return ended_waiting_ && stored_bytes_ > 0 && !abandoned_; }
  std::shared_ptr<RunJournal> MakeJournal();
  CellRun MakeRequest(bool from_sleep);
  void AddRecording(ResumeState& resume, bool from_sleep);
  asio::awaitable<Result<CodeRun>> RunInCell();
  bool record_is_cut() const;
  std::optional<std::string> WhyNotReplayed() const;
  asio::awaitable<bool> Recover();
  asio::awaitable<void> Conclude(Result<CodeRun> run);
  Outcome Complete(Outcome outcome) const;
  asio::awaitable<void> Store(const Outcome& outcome);
  asio::awaitable<void> ForgetKey();
  asio::awaitable<void> GiveBack();
  asio::awaitable<void> TryLater(Setback setback);
  std::chrono::nanoseconds SpareWallTime() const;

  // On the cell's executor.
  void OnChange();
  // Whether the code waits for people, or sleeps for long, and for nothing else.
  bool is_settled() const;
  std::uint64_t changes() const { return journal_->changes() + turns_; }
  asio::awaitable<void> Settle();
  // False: the store cannot take it now.
  asio::awaitable<bool> Park(Result<SavedCell> saved);
  void CountTime();
  Result<SavedRun> Seal(SavedCell cell, bool for_somebody) const;
  void GoOn();
  void SleepSoon();
  void SleepNow();
  void OnCellExecutor(std::function<void()> action);

  void Publish(const std::function<void(Awaited&)>& change);
  void Hear(OutputStream stream, std::string_view bytes);

  const RunResources& resources_;
  LiveRunStart start_;
  const bool stored_first_ = start_.lease.has_value();
  const Stop stop_;
  std::shared_ptr<RunJournal> journal_;
  mutable Guarded<Awaited> news_;
  Guarded<std::function<void(OutputStream, std::string_view)>> on_output_;
  Guarded<OnToolProgress> on_progress_;
  Guarded<std::optional<asio::any_io_executor>> cell_executor_;  // While there is a cell.
  std::optional<CellBuild> cell_build_;                          // What that can be saved for.

  // On the cell's executor.
  Cell* cell_ = nullptr;
  std::shared_ptr<WallLimit> wall_limit_;
  std::optional<asio::steady_timer> sleep_timer_;
  std::optional<HostTime> sleeps_until_;  // The cell is in a long sleep.
  std::uint64_t turns_ = 0;               // How often that changed.
  std::uint64_t parked_changes_ = 0;      // changes(), when the run was parked last.
  std::optional<SystemTime> wake_by_;     // When it must go on; nothing: when somebody has decided.
  std::size_t stored_bytes_ = 0;          // Of what was saved then.
  bool parked_ = false;
  bool ended_waiting_ = false;  // The cell went while it was parked.
  bool settling_ = false;
  bool unstored_ = false;   // It waits for people, and the store cannot take it.
  bool outlasted_ = false;  // Its cell ended because it had waited for the store for too long.
  bool asleep_ = false;
  bool abandoned_ = false;
  std::shared_ptr<Wakeup> settled_;
};

}  // namespace caisson
