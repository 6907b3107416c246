// A CellPool keeps a fork server of one kind alive on its lane, and keeps a few of its cells ready
// for the next runs.
//
// A run takes a waiting cell. The next cell is made in the pause after the run, or when half of the
// spare cells are taken, because making one takes time from the runs on the same cores. Spare cells
// are warmed, except while runs take them as fast as they are made. A run that needs another
// variety of cell waits until one is made for it.
// After enough cells or time the fork server is replaced by a new one, and ends when its last cell
// has ended.
//
// Trust     Messages of its fork servers are checked; see ForkServerProcess.
// Threads   The thread of its lane.
// Lifetime  Owned by the lane. Stop() ends the fork servers and fails waiting requests.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/host/engine_lane.h"
#include "engine/native/fork_server_process.h"
#include "engine/native/scratch_space.h"

namespace caisson {

// State that all pools of an engine share.
struct NativeState : EngineState {
  NativeState(Admission::Options admission_options, Limits limits_ceiling,
              std::unique_ptr<ForkServerLauncher> fork_server_launcher)
      : EngineState(admission_options, limits_ceiling), launcher(std::move(fork_server_launcher)) {}

  const std::unique_ptr<ForkServerLauncher> launcher;
  std::unique_ptr<ScratchSpace> scratch;  // Null: cells have a mount namespace, or no files.
};

class CellPool final : private ForkServerObserver {
 public:
  struct Options {
    ForkServerProcess::Options fork_server{};
    std::size_t spare_cells = 4;
    std::uint64_t rotate_after_cells = 20'000;
    std::chrono::nanoseconds rotate_after = std::chrono::minutes(30);
  };
  enum class Health { kStarting, kUp, kDown };
  // Called when the health changes; with the reason if it becomes kDown.
  using OnHealth = std::function<void(Health health, const std::string& why)>;
  using WithLink = EngineLane::WithLink;
  using WithCell = std::move_only_function<void(Result<std::shared_ptr<CellProcess>>)>;

  CellPool(asio::io_context& context, NativeState& state, Options options, OnHealth on_health);

  void Start();
  void Stop();
  // Passes a fresh cell to `then`, at once if one is waiting.
  void Take(const CellVariety& variety, WithLink then);
  // Makes and warms a cell for a future run. The receiver uses it or kills it.
  void Prepare(const CellVariety& variety, WithCell then);
  // The same, from the fork server with this number only, for a cell that will become a copy of one
  // of its cells. Returns false if that fork server is gone.
  bool TakeOf(std::uint64_t fork_server, const CellVariety& variety, WithLink& then);
  // Call it regularly while busy(): restarts, replaces and refills.
  void Check(SteadyTime now);
  bool busy() const;

 private:
  struct Waiter {
    CellVariety variety;
    WithLink then{};
    WithCell prepare{};             // Used instead of `then`: no run waits for this cell yet.
    std::uint64_t fork_server = 0;  // The fork server that it must come from; 0: any.
    bool again = false;             // The first attempt died while it was made.

    void Fail(Error error) { prepare ? prepare(std::move(error)) : then(std::move(error)); }
  };

  void StartForkServer();
  void OnStartFailed(const std::string& why);
  void Await(Waiter waiter);
  void MakeMore();
  void Hand(std::shared_ptr<CellProcess> cell, WithLink then);
  bool MayMake() const;
  void TakeWaiting(const CellVariety& variety, WithLink then, std::uint64_t fork_server);
  std::optional<Waiter> PopWaiter(const ForkServerProcess& fork_server, const CellVariety& variety);
  ForkServerProcess* Find(std::uint64_t fork_server) const;
  bool WaitAgain(Waiter& waiter);
  void FailWaiting(const Error& error);
  void FailWaitingFor(const ForkServerProcess& fork_server, const std::string& why);
  void Rotate();
  void DropSpares();
  void ReapDrained();

  void OnForkServerReady(ForkServerProcess& fork_server) override;
  void OnCellPrepared(ForkServerProcess& fork_server, std::shared_ptr<CellProcess> cell) override;
  void OnCellNotMade(ForkServerProcess& fork_server, const CellVariety& variety, NotMade how,
                     const std::string& why) override;
  void OnCellGone(ForkServerProcess& fork_server, CellProcess& cell) override;
  void OnForkServerLost(ForkServerProcess& fork_server, const std::string& why) override;

  asio::io_context& context_;
  NativeState& state_;
  const Options options_;
  const OnHealth on_health_;
  asio::steady_timer refill_;
  std::shared_ptr<ForkServerProcess> fork_server_;  // The fork server that makes cells now.
  std::shared_ptr<ForkServerProcess> next_;  // Starting; replaces fork server_ when it is ready.
  std::vector<std::shared_ptr<ForkServerProcess>> draining_;  // Make no more cells.
  std::vector<std::shared_ptr<CellProcess>> spare_;  // Of the default variety, newest last.
  std::deque<Waiter> waiting_;
  std::optional<SteadyTime> start_at_;  // Time of the next attempt.
  int failures_ = 0;                    // Since a cell was last made.
  bool stopping_ = false;
};

}  // namespace caisson
