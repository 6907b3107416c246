// A NativeLane is the part of the native engine that serves one core: a thread with its event loop,
// and the fork servers on that core. Thread and cells share a core because waking across cores
// costs ten times as much as the work itself.
//
// Trust     Its cells are hostile; see CellProcess.
// Threads   Everything runs on the lane's own thread, except where noted.
// Lifetime  Owned by the engine. The destructor ends the fork servers, the loop and the thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "engine/host/engine_lane.h"
#include "engine/native/cell_pool.h"

namespace caisson {

class NativeLane final : public EngineLane {
 public:
  struct Options {
    std::size_t index = 0;
    std::optional<int> cpu;
    CellPool::Options pool;             // Its fork server.kind is not used.
    std::vector<ForkServerKind> kinds;  // The first is started at once, the others when needed.
  };

  NativeLane(Options options, NativeState& state);
  ~NativeLane() override;

  // Any thread. Blocks until the first fork server is ready; fails with the reason if it does not
  // start.
  Result<void> AwaitFirstForkServer() { return first_ready_.get(); }

  void WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) override;
  bool MakesOnDemand(const CellNeeds& needs) const override;

  // Prepares a cell for a run with these needs. Passes null if spare cells serve such runs.
  using WithPrepared = std::move_only_function<void(Result<std::shared_ptr<PreparedCell>>)>;
  void Prepare(Preparation preparation, WithPrepared then);
  // Passes a cell made by the fork server with this number.
  void WithFreshCellOf(std::uint64_t fork_server, const CellNeeds& needs, WithLink then);

 private:
  void Run();
  void Stop();
  void OnHealth(CellPool::Health health, const std::string& why);
  Result<CellVariety> VarietyFor(const CellNeeds& needs) const;
  CellPool& PoolFor(const std::vector<std::string>& modules);
  std::shared_ptr<CellProcess> TakePrepared(CellNeeds& needs);
  void EnsureTick();
  void Tick();

  const Options options_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer tick_;
  bool ticking_ = false;
  bool stopping_ = false;
  std::vector<std::unique_ptr<CellPool>> pools_;  // In the order of options_.kinds.
  std::optional<std::promise<Result<void>>> first_;
  std::future<Result<void>> first_ready_;
  std::thread thread_;
};

}  // namespace caisson
