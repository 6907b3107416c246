// A Lane is the part of the engine that serves one core: a thread with its event loop, and the
// workers on that core. Placement decides where the thread itself runs.
//
// Trust     Its workers are hostile; see WorkerProcess.
// Threads   Everything runs on the lane's own thread, except where noted.
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
#include "engine/host/engine_lane.h"
#include "engine/wasm/placement.h"
#include "engine/wasm/worker_process.h"

namespace caisson {

// State that the lanes of a wasm engine share.
struct EngineShared : EngineState {
  EngineShared(Admission::Options admission_options, Limits limits_ceiling,
               std::unique_ptr<Launcher> worker_launcher)
      : EngineState(admission_options, limits_ceiling), launcher(std::move(worker_launcher)) {}

  const std::unique_ptr<Launcher> launcher;
  // The build of the first worker; all others must have the same.
  Guarded<std::optional<WorkerBuild>> build;
  std::atomic<std::size_t> busy_lanes{0};  // See Placement.
  // Called on the lane; see WasmEngineOptions.
  std::function<void(const std::string& why)> on_worker_lost{};
};

// How many owners may have cells in one worker process. kOne: a worker serves one owner until it
// ends, so that no code runs in a process that holds the memory of another owner, not even
// speculatively (ADR 39).
enum class OwnersPerWorker { kMany, kOne };

class Lane final : public EngineLane, private WorkerObserver {
 public:
  struct Options {
    std::size_t index = 0;
    std::optional<int> cpu;
    std::vector<int> cores;  // All cores that the engine may use.
    std::string tier;
    OwnersPerWorker owners = OwnersPerWorker::kMany;
    std::size_t max_owner_workers = 16;
    std::chrono::nanoseconds owner_worker_idle = std::chrono::seconds(5);
    // kOne: maximum time that a run waits until another owner of its lane has no cell any more.
    std::chrono::nanoseconds owner_wait = std::chrono::seconds(10);
  };
  // Starts the thread and, on it, the first worker.
  Lane(Options options, EngineShared& shared);
  ~Lane() override;

  // Any thread. Blocks until the first worker is ready; fails with the reason if it does not start.
  Result<void> AwaitFirstWorker();
  EngineShared& shared() { return shared_; }

  // Uses the lane's worker, at once or when it is ready again. kOne: as WithWorkerOf.
  void WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) override;
  // The same in a worker that serves only `owner`. Cells are restored there.
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

  std::shared_ptr<WorkerProcess> main_;  // kOne: has served no owner yet and gets the next one.
  bool main_used_ = false;               // It was ready, and its build was right.
  SteadyTime main_ready_at_{};
  std::optional<SteadyTime> main_start_at_;  // Time of the next attempt.
  int failures_ = 0;
  std::vector<WithLink> waiting_;
  std::map<OwnerId, OwnerWorker> owner_workers_;
  std::deque<WaitingOwner> waiting_owners_;  // Owners that wait for a worker.
  std::optional<std::promise<Result<void>>> first_;
  std::future<Result<void>> first_ready_;
  std::thread thread_;
};

}  // namespace caisson
