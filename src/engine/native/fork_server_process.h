// A ForkServerProcess is the host's view of one fork server: a warm process that makes cells and
// reports when they are gone.
//
// Trust     It can achieve nothing worse than being killed: for breaking the protocol, for not
//           being ready in time, for not reaping a killed cell. Its cells die with it (they are in
//           its pid namespace).
// Threads   The thread of its lane.
// Lifetime  Shared by the pool and by the handlers that wait for its descriptors. Stop() ends the
//           process and all its cells.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "engine/native/cell_process.h"
#include "engine/native/cell_variety.h"
#include "engine/native/control_packet.h"
#include "engine/native/fork_server_launcher.h"

namespace caisson {

class ForkServerProcess;

class ForkServerObserver {
 public:
  virtual ~ForkServerObserver() = default;
  virtual void OnForkServerReady(ForkServerProcess& fork_server) = 0;
  virtual void OnCellPrepared(ForkServerProcess& fork_server,
                              std::shared_ptr<CellProcess> cell) = 0;
  // A requested cell will not come: the fork server reported that it cannot make it, or it died
  // while it was made.
  enum class NotMade { kRefused, kDied };
  virtual void OnCellNotMade(ForkServerProcess& fork_server, const CellVariety& variety,
                             NotMade how, const std::string& why) = 0;
  virtual void OnCellGone(ForkServerProcess& fork_server, CellProcess& cell) = 0;
  // The fork server's cells have been notified. `why` gives the reason and the end of its log.
  virtual void OnForkServerLost(ForkServerProcess& fork_server, const std::string& why) = 0;
};

class ForkServerProcess : public std::enable_shared_from_this<ForkServerProcess> {
 public:
  struct Options {
    ForkServerKind kind{};
    std::string tier{};
    std::size_t lane = 0;
    std::optional<int> cpu{};
    bool cgroups = false;  // Whether cells with several processes can have a cgroup.
    // Where its cells keep their files; null: in their own namespaces. Cells of a foreign
    // interpreter have no files without a namespace.
    ScratchSpace* scratch = nullptr;
    PipeBudget* pipes = nullptr;  // Shared by all cells.
    std::chrono::nanoseconds ready_within = std::chrono::seconds(20);
    // Time to make a cell, or to answer.
    std::chrono::nanoseconds copied_within = std::chrono::seconds(10);
  };

  static Result<std::shared_ptr<ForkServerProcess>> Start(asio::io_context& context,
                                                          ForkServerLauncher& launcher,
                                                          const Options& options,
                                                          ForkServerObserver& observer);
  ~ForkServerProcess();

  bool ready() const { return ready_ && !lost_; }
  // Unique among all fork servers of this process.
  std::uint64_t number() const { return parent_.number; }
  // Requests a cell: OnCellPrepared or OnCellNotMade follows.
  void Make(std::uint64_t number, const CellVariety& variety, wire::ToForkServer how);
  // The number of requested cells of a variety that have not arrived yet.
  std::size_t making(const CellVariety& variety) const;
  std::size_t making() const { return making_; }
  std::size_t cells() const { return cells_.size(); }
  std::uint64_t made() const { return made_; }
  SteadyTime ready_at() const { return ready_at_; }

  // Call it regularly: ends the fork server if it hangs.
  void Check(SteadyTime now);
  // Ends the fork server and everything in it; the observer is not notified.
  void Stop();

 private:
  using Cells = std::unordered_map<std::uint64_t, std::shared_ptr<CellProcess>>;

  ForkServerProcess(asio::io_context& context, UniqueFd log, const Options& options,
                    ForkServerObserver& observer);
  Result<void> Watch(UniqueFd control, std::unique_ptr<ForkServerHandle> handle);
  void AwaitControl();
  void AwaitEnd();
  bool ReadControl();
  void OnEnded();
  Result<void> Handle(ForkServerIsReady ready);
  Result<void> Handle(CellIsBorn born);
  Result<void> Handle(CellIsPrepared prepared);
  Result<void> Handle(CellFailed failed);
  Result<void> Handle(const wire::CellGone& gone);
  Result<Cells::iterator> Find(std::uint64_t cell);
  void Lose(RunReason reason, std::string why);
  void LoseCells(RunReason reason, const std::string& why);

  asio::io_context& context_;
  ForkServerObserver* observer_;
  UniqueFd log_;
  const SteadyTime ready_by_;
  const bool cgroups_;
  CellParent parent_;
  Boundary boundary_;
  std::unique_ptr<ForkServerHandle> handle_;
  asio::posix::stream_descriptor control_;
  asio::posix::stream_descriptor ended_;
  Cells cells_;
  std::size_t making_ = 0;
  std::uint64_t made_ = 0;
  SteadyTime ready_at_{};
  std::optional<SteadyTime> stopped_since_;  // Set while a signal has stopped the process.
  bool ready_ = false;
  bool lost_ = false;
  bool reaped_ = false;
};

}  // namespace caisson
