// A LiveRun is one run while this process holds it: it has a cell or waits for one. All questions
// about the run are answered here.
//
// When all its open calls wait for a decision, a sealed copy of the cell is stored, and the cell
// stays in memory as well. From then on the run outlives this process, and a decision that comes
// soon finds the cell warm. A cell that cannot be copied (engine native, a session) waits in memory
// alone and is lost with the process. A long sleep of the code is handled in the same way. See
// live_run_state.h.
//
// The wall limit counts while the code computes, sleeps or awaits a tool. It does not count while
// the code awaits nothing but decisions, even if it has set a time-out as well. A sleep counts in
// full and never more, whether or not a host was up meanwhile.
//
// When its worker is lost, a run that waited sleeps in the store. A run that was under way
// continues from the store, once, and does no call again. If a second worker is lost, it ends as
// `crashed`.
//
// Trust     Messages of the cell are hostile; see ToolBridge. Saved cells are sealed before they
//           are stored.
// Threads   Any, unless said otherwise. The cell is used only on its own executor.
// Lifetime  Shared by the service and the waiting callers; Live() keeps it.
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
#include "runs/live_run_state.h"
#include "runs/run_news.h"
#include "runs/run_resources.h"
#include "runs/run_service.h"

namespace caisson {

// A run and the way it came here: new, or resumed from the store.
struct LiveRunStart {
  IsolationKey owner;
  RunId id;
  RunRecord record{};
  std::optional<DirectCall> call{};  // As in `record`.
  std::shared_ptr<const CodeSetting> setting{};
  std::shared_ptr<const CallerContext> caller{};
  std::optional<Lease> lease{};  // nullopt: not in the store yet.
  SystemTime created_at{};
  Restart restart = Restart::kNo;        // For the session in `record`.
  std::optional<std::string> fork_of{};  // For the session in `record`.
  // For a resumed run:
  bool resumed = false;
  std::uint32_t attempts = 0;  // Attempts to resume it; see StoredRun.
  std::vector<StoredCall> recorded{};
  std::vector<TracePart> trace{};  // Clock readings before these calls, in order.
  std::optional<SleepRecord> sleep{};
  std::uint32_t sleep_seq = 0;             // Number of its calls when it fell asleep.
  std::optional<CellBuild> sleep_build{};  // The build of the cell that it slept in.
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
  // Of a new run, as in RunSpec. A run whose calls may be asked about has no consent, so consent is
  // never taken along to another process.
  std::function<void(const StoredApproval&)> on_ask{};
  Consent consent = Consent::kNone;
  KeepRun keep = KeepRun::kYes;
  Purpose purpose = Purpose::kRun;
  std::optional<RunKey> key{};  // For a new run.
};

class LiveRun final : public RunObserver, public std::enable_shared_from_this<LiveRun> {
 public:
  struct Parked {
    SystemTime since{};
    std::uint64_t bytes = 0;  // Size of its saved memory.
  };

  LiveRun(const RunResources& resources, LiveRunStart start, const asio::any_io_executor& executor);

  // Runs to the end of the run, or until this process no longer holds it. Called once.
  asio::awaitable<void> Live();

  const RunNews& news() const { return news_; }
  void StopStreaming() {
    *on_output_.Lock() = nullptr;
    *on_progress_.Lock() = nullptr;
  }

  // Reads decisions on the approvals of `run` from the store; the run continues if it can.
  static asio::awaitable<void> ReadDecisions(std::shared_ptr<LiveRun> run);
  void Cancel();
  // Puts the run to sleep if it waits and is saved. Otherwise does nothing.
  void Evict();
  // Another process holds the run: nothing more is done for it here.
  void Abandon();

  // Set if the run waits in memory and could sleep in the store.
  std::optional<Parked> parked() const;
  // Whether it has a cell that computes, or waits for one. False if it waits for a decision or has
  // ended.
  bool needs_cell() const;
  bool has_ended() const;
  const LiveRunStart& start() const { return start_; }
  bool was_stored_first() const { return stored_first_; }  // Then it has always had its lease.
  // After Live() has returned.
  bool fell_asleep() const { return state_.leaving() == Leaving::kAsleep; }
  // Once Live() has returned: the time at which the run must be resumed, if it waits for time
  // alone.
  std::optional<SystemTime> wake_by() const { return wake_by_; }
  const Stop& stop() const { return stop_; }  // Of Live().

  void OnCell(Cell& cell, const std::optional<SessionId>& session) override;
  void OnSleep(std::optional<HostTime> until) override;
  void OnEnd(Result<Outcome>& outcome) override;
  asio::awaitable<void> LetGo() override;

 private:
  bool is_durable() const { return start_.lease && start_.record.seed; }
  bool can_be_saved() const { return is_durable() && !start_.record.session; }
  // The last cell ended while the run was parked, and the store has the run as it was then.
  bool waits_in_store() const {
    return state_.last_end() == CellEnd::kWaiting && stored_bytes_ > 0 && !is_abandoned();
  }
  bool is_abandoned() const { return state_.leaving() == Leaving::kAbandoned; }
  // A step that is not allowed ends the run with the error.
  void Step(LiveEvent event);
  std::shared_ptr<RunJournal> MakeJournal();
  CellRun MakeRequest(bool from_sleep);
  void AddRecording(ResumeState& resume, bool from_sleep);
  asio::awaitable<Result<CodeRun>> RunInCell();
  bool record_is_cut() const;
  std::optional<std::string> WhyNotReplayed() const;
  asio::awaitable<bool> Recover();
  asio::awaitable<void> Conclude(Result<CodeRun> run);
  Outcome Complete(Outcome outcome) const;
  asio::awaitable<void> Store(std::shared_ptr<const RunEnd> end);
  asio::awaitable<void> ForgetKey();
  asio::awaitable<void> GiveBack();
  asio::awaitable<void> TryLater(Setback setback);
  std::chrono::nanoseconds SpareWallTime() const;

  // On the cell's executor.
  void OnChange();
  // Whether the code waits for decisions, or sleeps for long, and does nothing else.
  bool is_settled() const;
  std::uint64_t changes() const { return journal_->changes() + turns_; }
  asio::awaitable<void> Settle();
  // Returns false if the store cannot save it now.
  asio::awaitable<bool> Park(Result<SavedCell> saved);
  void CountTime();
  Result<SavedRun> Seal(SavedCell cell, bool for_somebody) const;
  void GoOn();
  void SleepSoon();
  void SleepNow();
  void OnCellExecutor(std::function<void()> action);

  void Hear(OutputStream stream, std::string_view bytes);

  const RunResources& resources_;
  LiveRunStart start_;
  const bool stored_first_ = start_.lease.has_value();
  const Stop stop_;
  std::shared_ptr<RunJournal> journal_;
  RunNews news_;
  Guarded<std::function<void(OutputStream, std::string_view)>> on_output_;
  Guarded<OnToolProgress> on_progress_;
  Guarded<std::optional<asio::any_io_executor>> cell_executor_;  // While there is a cell.
  std::optional<CellBuild> cell_build_;                          // The build that can restore it.

  // On the cell's executor.
  Cell* cell_ = nullptr;
  std::shared_ptr<WallLimit> wall_limit_;
  std::optional<asio::steady_timer> sleep_timer_;
  std::optional<HostTime> sleeps_until_;  // The cell is in a long sleep.
  std::uint64_t turns_ = 0;               // Number of changes of sleeps_until_.
  std::uint64_t parked_changes_ = 0;      // changes(), when the run was parked last.
  std::optional<SystemTime> wake_by_;     // When it must continue; nullopt: after a decision.
  std::size_t stored_bytes_ = 0;          // Size of the saved cell.
  LiveRunState state_;
  std::optional<Error> wrong_step_;
  std::shared_ptr<Wakeup> settled_;
};

}  // namespace caisson
