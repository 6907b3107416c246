// A Lane is one core's part of the engine: a thread with its event loop, and the workers it keeps on
// that core. The thread itself sits where Placement puts it.
//
// Trust     Its workers are hostile; see WorkerProcess.
// Threads   Everything on the lane's own thread, except where it says otherwise.
// Lifetime  Owned by the engine. The destructor ends the workers, the loop and the thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/session/engine_lane.h"
#include "engine/wasm/placement.h"
#include "engine/wasm/worker_process.h"

namespace caisson {

// What the lanes of a wasm engine have in common.
struct EngineShared : EngineState {
  EngineShared(Admission::Options admission_options, Limits limits_ceiling,
               std::unique_ptr<Launcher> worker_launcher)
      : EngineState(admission_options, limits_ceiling), launcher(std::move(worker_launcher)) {}

  const std::unique_ptr<Launcher> launcher;
  Guarded<std::optional<WorkerBuild>> build;  // The first worker's; all others must be the same.
  std::atomic<std::size_t> busy_lanes{0};     // See Placement.
  // Called on the lane; see WasmEngineOptions.
  std::function<void(const std::string& why)> on_worker_lost{};
};

// How many owners may have cells in one worker process. kOne: a worker serves one owner until it ends, so
// that no code runs in a process with the memory of another owner's, not even speculatively (ADR 39).
enum class OwnersPerWorker { kMany, kOne };

class Lane final : public EngineLane, private WorkerObserver {
 public:
  struct Options {
    std::size_t index = 0;
    std::optional<int> cpu;
    std::vector<int> cores;  // All that the engine may use.
    std::string tier;
    OwnersPerWorker owners = OwnersPerWorker::kMany;
    std::size_t max_owner_workers = 16;
    std::chrono::nanoseconds owner_worker_idle = std::chrono::seconds(5);
    // kOne: how long a run waits for one of its lane's other owners to have no cell.
    std::chrono::nanoseconds owner_wait = std::chrono::seconds(10);
  };
  // Starts the thread and, on it, the first worker.
  Lane(Options options, EngineShared& shared);
  ~Lane() override;

  // Any thread: blocks until the first worker is ready, or says why it is not.
  Result<void> AwaitFirstWorker();
  EngineShared& shared() { return shared_; }

  // In the lane's worker: at once, or when it is ready again. kOne: as WithWorkerOf.
  void WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) override;
  // The same in the worker that serves `owner` and nobody else: there cells are restored.
  void WithWorkerOf(const OwnerId& owner, WithLink then);

 private:
  struct OwnerWorker {
    std::shared_ptr<WorkerProcess> process;
    std::vector<WithLink> waiting;
  };
  struct WaitingOwner {
    OwnerId owner;
    SteadyTime until;
    WithLink then;
  };

  void Run();
  void WatchMain();
  void Stop();
  Result<std::shared_ptr<WorkerProcess>> StartWorker();
  void StartMain();
  void OnMainFailed(const std::string& why);
  void OnWorkerReady(WorkerProcess& worker) override;
  void OnWorkerTurn() override;
  void OnWorkerLost(WorkerProcess& worker, const std::string& why) override;
  bool SameBuild(const WorkerBuild& build);
  void FailWaiting(std::vector<WithLink> waiting, const Error& error);
  void HandToWorkerOf(const OwnerId& owner, WithLink then);
  Result<std::shared_ptr<WorkerProcess>> TakeUnusedWorker();
  bool MakeRoomForOwner();
  void ServeWaitingOwners(SteadyTime now);
  void EnsureTick();
  void Tick();
  void RetireOwnerWorkers(SteadyTime now);

  const Options options_;
  EngineShared& shared_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer tick_;
  Placement placement_;
  bool ticking_ = false;
  bool stopping_ = false;

  std::shared_ptr<WorkerProcess> main_;  // kOne: has served nobody, and is the next owner's.
  bool main_used_ = false;               // It was ready, and of the right build.
  SteadyTime main_ready_at_{};
  std::optional<SteadyTime> main_start_at_;  // When to try again.
  int failures_ = 0;
  std::vector<WithLink> waiting_;
  std::map<OwnerId, OwnerWorker> owner_workers_;
  std::deque<WaitingOwner> waiting_owners_;  // For whom there is no room.
  std::optional<std::promise<Result<void>>> first_;
  std::future<Result<void>> first_ready_;
  std::thread thread_;
};

}  // namespace caisson
