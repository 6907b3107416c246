// A WorkerProcess is one jailed worker: its process, its channel, and the supervision of both.
//
// Trust     The worker can achieve nothing worse than being killed: for a protocol violation, for
//           silence when it owes an answer, for not being ready in time.
// Threads   The thread of its lane.
// Lifetime  Shared by the lane and by the handlers that wait for its descriptors. Stop() ends the
//           process and the handlers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/wasm/channel.h"
#include "engine/wasm/launcher.h"
#include "engine/wasm/worker_link.h"

namespace caisson {

class WorkerProcess;

class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void OnWorkerReady(WorkerProcess& worker) = 0;
  // The worker's frames have been handled.
  virtual void OnWorkerTurn() = 0;
  // The worker's cells have been notified. `why` gives the reason and the end of the worker's log.
  virtual void OnWorkerLost(WorkerProcess& worker, const std::string& why) = 0;
};

class WorkerProcess : public std::enable_shared_from_this<WorkerProcess> {
 public:
  struct Options {
    std::string tier;
    std::optional<int> cpu;
    std::chrono::nanoseconds ready_within = std::chrono::seconds(5);
  };

  static Result<std::shared_ptr<WorkerProcess>> Start(asio::io_context& context, Launcher& launcher,
                                                      const Options& options,
                                                      WorkerObserver& observer);
  ~WorkerProcess();

  WorkerLink& link() { return *link_; }
  bool ready() const { return link_->ready().has_value() && !lost_; }

  // Call it regularly: ends the worker if it hangs.
  void Check(SteadyTime now);
  // Ends the worker and everything in it; the observer is not notified.
  void Stop();

  // Polls for messages of the worker for at most this long, and handles them. Returns false if
  // there were none.
  bool Watch(std::int64_t time_ns);

  // For an owner that keeps several workers.
  SteadyTime idle_since{};

 private:
  WorkerProcess(asio::io_context& context, Channel channel, UniqueFd log, const Options& options,
                WorkerObserver& observer);
  Result<void> Observe(const UniqueFd& notify, std::unique_ptr<WorkerHandle> handle);
  void AwaitNotify();
  void AwaitEnd();
  void Turn();
  void RequestTurn();
  void OnEnded();
  void Lose(RunReason reason, std::string why);

  asio::io_context& context_;
  WorkerObserver* observer_;
  Channel channel_;
  UniqueFd log_;
  SteadyTime ready_by_;
  std::optional<WorkerLink> link_;
  std::unique_ptr<WorkerHandle> handle_;
  asio::posix::stream_descriptor notify_;
  asio::posix::stream_descriptor ended_;
  std::uint64_t notify_count_ = 0;
  bool announced_ = false;
  bool turn_requested_ = false;
  bool suspect_ = false;  // Seemed to hang at the last check.
  bool lost_ = false;
  bool reaped_ = false;
};

}  // namespace caisson
