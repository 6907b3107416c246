// An Engine that plays scripts, for tests of everything above the engine.
//
//   FakeEngine engine(executor);
//   engine.Push({.steps = {FakeCall{.tool = "add"}}, .outcome = {.status =
//   RunStatus::kCompleted}});
//
// Trust     None; it is for tests.
// Threads   One: that of `executor`.
// Lifetime  As Engine. Saved cells live in the engine and can be restored any number of times.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace caisson {

struct FakeOutput {
  OutputStream stream = OutputStream::kStdout;
  std::string text{};
};
// The script continues when the call is answered.
struct FakeCall {
  std::string tool;
  List positional{};
  Dict keywords{};
};

// A long sleep until this time. The script continues when the cell, saved asleep, is restored.
struct FakeSleep {
  HostTime until{};
};

struct FakeScript {
  std::vector<std::variant<FakeOutput, FakeCall, FakeSleep>> steps{};
  Outcome outcome{};         // How the run ends. Output and calls are filled in.
  bool loses_state = false;  // The cell keeps no state, whatever AfterRun says.
};

// How far a script has been played.
struct FakePlay {
  FakeScript script;
  std::size_t next_step = 0;
  std::uint32_t next_seq = 0;
  std::optional<HostTime> sleeps_until{};
};

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // The next run plays this script. Without a script a run fails with kInternal.
  void Push(FakeScript script) { scripts_.push_back(std::move(script)); }
  // The next Open or Restore fails with this error.
  void FailNextOpen(Error error) { open_error_ = std::move(error); }

  // Called when the next Open begins. Open returns some turns of the executor later. If `action`
  // cancels its caller, Open returns to a cancelled one.
  void OnNextOpen(std::function<void()> action) { on_open_ = std::move(action); }

  // Reports this number of waiting requests.
  void PretendWaiting(std::uint64_t requests) { stats_.waiting = requests; }

  // From now on cells report a preparation() for their runs.
  void WorthPreparing() { worth_preparing_ = true; }
  // HoldNextPrepare: the next Prepare ends when `go` is cancelled. FailNextPrepare: it fails with
  // this error.
  void HoldNextPrepare(asio::steady_timer& go) { hold_prepare_ = &go; }
  void FailNextPrepare(Error error) { prepare_error_ = std::move(error); }
  // The prepared cells: all of them so far, how many still wait, and the owners that brought one
  // along.
  const std::vector<Preparation>& preparations() const { return preparations_; }
  int waiting_cells() const { return *waiting_cells_; }
  const std::vector<OwnerId>& opened_prepared() const { return opened_prepared_; }

  int restored() const { return restored_; }
  // The requests and answers, in order.
  const std::vector<std::pair<OwnerId, RunRequest>>& requests() const { return requests_; }
  const std::vector<std::pair<std::uint32_t, ToolAnswer>>& answers() const { return answers_; }
  const std::vector<HostTime>& answer_times() const { return answer_times_; }

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(Preparation preparation) override;
  EngineStats stats() const override { return stats_; }
  std::optional<CellBuild> build() const override { return build_; }
  // Pretends to be another build from now on.
  void Upgrade() { ++build_.build_id[0]; }
  // Takes over the saved cells of another engine, as if another process had saved them here.
  void AdoptSaved(const FakeEngine& other) { saved_ = other.saved_; }

 private:
  friend class FakeCell;

  asio::any_io_executor executor_;
  std::deque<FakeScript> scripts_;
  std::optional<Error> open_error_;
  std::function<void()> on_open_;
  std::vector<std::pair<OwnerId, RunRequest>> requests_;
  std::vector<std::pair<std::uint32_t, ToolAnswer>> answers_;
  std::map<std::string, std::pair<OwnerId, std::optional<FakePlay>>> saved_;
  std::vector<HostTime> answer_times_;
  CellBuild build_{};
  EngineStats stats_;
  int restored_ = 0;
  bool worth_preparing_ = false;
  asio::steady_timer* hold_prepare_ = nullptr;
  std::optional<Error> prepare_error_;
  std::vector<Preparation> preparations_;                          // Without their witnesses.
  std::shared_ptr<int> waiting_cells_ = std::make_shared<int>(0);  // Shared with them.
  std::vector<OwnerId> opened_prepared_;
};

}  // namespace caisson
