// A CellProtocol is the host's view of one cell: which run is under way, what the cell may still
// send, and what it has sent so far.
//
// Trust     Messages come from a process that may have been taken over. A message that an honest
//           process never sends (a wrong call number, output beyond the cap, a frame out of place)
//           is an error of OnMessage, and the process is killed (I9). Data that a hostile *guest*
//           can cause an honest worker to send (a report or call that does not decode) ends only
//           that guest's run, so that no tenant can take down the cells of another.
// Threads   The lane of its link.
// Lifetime  Shared by the EngineCell in front of it and the CellLink it is attached to. The last
//           of them to release it destroys it and gives its place in the engine back.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/host/admission.h"
#include "engine/host/cell_link.h"
#include "wire/frames.h"

namespace caisson {

using SteadyTime = std::chrono::steady_clock::time_point;

// Returns why the contents of a captured file are missing, naming the limit. Empty for kNot.
std::string Explain(wire::Omitted omitted);

// The end of a run that the cell itself did not report: its process died or was killed.
struct Verdict {
  RunStatus status;
  RunReason reason;
  std::optional<RunError> error{};
};

class CellProtocol : public std::enable_shared_from_this<CellProtocol> {
 public:
  using RunDone = std::move_only_function<void(Result<Outcome>)>;
  using SaveDone = std::move_only_function<void(Result<SavedCell>)>;
  using RestoreDone = std::move_only_function<void(Result<void>)>;

  CellProtocol(OwnerId owner, Admission::Place place, std::chrono::nanoseconds queued);
  ~CellProtocol();

  // Gives the cell its mounts, before it is started or restored. Their answers arrive on `lane`.
  void UseHostFiles(std::shared_ptr<HostFiles> files, asio::any_io_executor lane);

  // Offers a prepared cell for the first run.
  void UsePrepared(std::shared_ptr<PreparedCell> prepared) { prepared_ = std::move(prepared); }
  std::shared_ptr<PreparedCell> TakePrepared() { return std::exchange(prepared_, nullptr); }
  // As Cell::preparation.
  void SetPreparation(Preparation preparation) { preparation_ = std::move(preparation); }
  const std::optional<Preparation>& preparation() const { return preparation_; }

  // Requests from the EngineCell. If one succeeds, `done` is taken and called once, after the call
  // has returned. If it fails, `done` is left untouched.
  // Start and Restore attach the protocol to `link` under the number `id`. Again continues on the
  // same link.
  Result<void> Start(CellLink& link, std::uint64_t id, RunRequest request, RunEvents& events,
                     AfterRun after, RunDone&& done);
  Result<void> Again(RunRequest request, RunEvents& events, AfterRun after, RunDone&& done);
  Result<void> Restore(CellLink& link, std::uint64_t id, const SavedCell& saved,
                       const Limits& limits, RestoreDone&& done);
  Result<void> Continue(RunEvents& events, AfterRun after, RunDone&& done);
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer, HostTime now);
  Result<void> Save(AfterSave after, std::uint64_t max_bytes, SaveDone&& done);
  void Cancel();
  // The EngineCell is gone: ends what runs and notifies nobody.
  void Abandon();

  // Mark the time between the request to run and having a worker. EndStarting returns whether the
  // run is still wanted.
  void BeginStarting() { starting_ = true; }
  bool EndStarting() {
    return std::exchange(starting_, false) && !std::exchange(start_cancelled_, false) &&
           !abandoned_;
  }

  // Returns the outcome of a restored run that ended before Continue was called, for example
  // because its time was up.
  std::optional<Outcome> TakeEarlyEnd() { return std::exchange(early_end_, std::nullopt); }
  // Passes an outcome on once the changes that the run made below its mounts are settled.
  void Settle(Outcome outcome, RunDone done);

  bool starting() const { return starting_; }
  bool abandoned() const { return abandoned_; }
  bool run_under_way() const { return static_cast<bool>(run_done_); }
  bool idle() const { return state_ == State::kIdle; }
  // Returns whether a run is under way whose output is still wanted.
  bool run_may_speak() const { return Allowed(wire::ToHost::kOutput).has_value(); }
  bool empty() const { return state_ == State::kEmpty; }
  std::uint64_t id() const { return id_; }
  const OwnerId& owner() const { return owner_; }
  std::shared_ptr<const HostFiles> host_files() const { return host_files_; }

  // Functions for the link. Allowed returns the maximum size in bytes of a message of this kind
  // now. nullopt: no such message is allowed.
  std::optional<std::size_t> Allowed(wire::ToHost kind) const;
  Result<void> OnMessage(wire::ToHost kind, std::string_view message);
  // Joins frames to messages, each within the allowed size, and passes those to OnMessage.
  Result<void> OnFrame(wire::ToHost kind, std::uint16_t flags, std::string_view payload);
  // Returns whether some but not all frames of a message have arrived.
  bool mid_message() const { return partial_kind_.has_value(); }
  // Adds a file that the host captured itself, within the limits.
  void AddFile(OutcomeFile file);
  // Adds what the run wrote below its mounts, for engines where the host captures that itself.
  void AddLayer(Layer layer) { layer_ = std::move(layer); }
  // The cell is gone, and nothing except its run is affected. `measured`: the host's own
  // measurements of that run.
  void OnDied(const wire::DoneHeader& measured, Verdict verdict);
  // The worker or fork server is gone. What was under way ends with `reason`.
  void OnLost(RunReason reason, const std::string& why);
  // The link holds this much that the cell has not read.
  void SetUnsent(std::size_t bytes) { unsent_bytes_.store(bytes, std::memory_order_relaxed); }
  // May be called from any thread.
  std::size_t unsent_bytes() const { return unsent_bytes_.load(std::memory_order_relaxed); }
  // Returns whether the worker has missed its deadline for a message (see kGrace).
  bool overdue(SteadyTime now) const { return now >= deadline_; }

 private:
  enum class State {
    kEmpty,      // In no worker.
    kRunning,    // kStart, kAgain or Continue was sent; kDone will come.
    kIdle,       // Kept after a run.
    kRestoring,  // kRestore was sent.
    kParked,     // Restored; its messages are kept until Continue.
    kEnding,     // kCancel was sent; kDone will come.
    kLost,       // The worker died and the cell with it.
  };
  static constexpr std::size_t kNoIndex = SIZE_MAX;
  struct OpenCall {
    std::uint32_t seq;
    std::size_t index;  // Index in outcome_.calls; kNoIndex: the call was made before a restore.
    std::size_t packed_bytes;
    SteadyTime since;
  };

  struct EarlyAnswer {
    std::uint32_t seq;
    ToolAnswer answer;
    HostTime now;
  };

  Result<void> SendStart(wire::ToWorker kind, RunRequest& request, AfterRun after);
  std::span<const MountPoint> mounts() const;
  void ClearOutcome();
  void BeginRun(RunEvents& events, AfterRun after, RunDone&& done);
  Result<void> OnOutput(std::string_view message);
  void Deliver(std::uint32_t seq, std::string trace, std::string_view packed);
  // Fails if the run may not have one more open call.
  Result<void> CheckOpenCalls(std::size_t packed_bytes) const;
  void CloseCall(std::vector<OpenCall>::iterator call);
  void CloseCalls();
  void ShowArguments();
  Result<void> OnSleep(std::string_view message);
  Result<void> OnTail(std::string_view message);
  Result<void> OnCall(std::string_view message);
  Result<void> OnFile(std::string message);
  Result<void> KeepFile(const wire::FileHeader& header, std::string path, std::string contents);
  Result<void> OnFileList(std::string_view message);
  Result<void> OnFileRead(std::string_view message);
  Result<void> OnChange(std::string_view message);
  // Returns the callback that answers the open request. It can be called on any thread.
  std::move_only_function<void(wire::FileError, std::string)> FileAnswerer(std::uint32_t number);
  void AnswerFile(std::uint64_t request, std::uint32_t number, wire::FileError error,
                  std::string_view bytes);
  Result<void> OnDone(std::string_view message);
  Result<void> OnRestored(std::string_view message);
  void OnSaved(std::string message);
  void OnRefused(std::string_view message);
  // Ends the run because its guest sent invalid data; the cell is cancelled.
  void Distrust(std::string why);
  void EndCell();
  void FinishRun();
  void FinishSave(Result<SavedCell> saved);
  void FailRestore(Error why);
  void Detach();
  void SetDeadline();
  Result<void> SendAnswer(std::uint32_t seq, const ToolAnswer& answer, HostTime now);

  const OwnerId owner_;
  const Admission::Place place_;
  const std::chrono::nanoseconds queued_;

  CellLink* link_ = nullptr;
  std::uint64_t id_ = 0;
  State state_ = State::kEmpty;
  bool abandoned_ = false;  // The EngineCell is gone.
  bool doomed_ = false;     // Freed as soon as it is idle.
  bool unheard_ = false;    // The worker has sent nothing yet about the current run.
  bool may_keep_ = false;   // kKeepCell was sent.
  bool starting_ = false;
  bool start_cancelled_ = false;
  bool save_pending_ = false;  // kSave was sent; kSaved or kRefused will come.
  bool recorded_ = false;      // The run is recorded. Only then are there traces and sleep events.
  std::optional<HostTime> sleeps_until_;                  // The run under way is in a long sleep.
  std::pair<std::optional<HostTime>, std::string> tail_;  // For the save under way.
  AfterRun after_ = AfterRun::kDiscard;
  AfterSave after_save_ = AfterSave::kKeep;
  std::uint64_t max_saved_bytes_ = 0;
  SteadyTime deadline_ = SteadyTime::max();

  std::atomic<std::size_t> unsent_bytes_ = 0;
  Limits limits_;
  RunEvents* events_ = nullptr;
  RunDone run_done_;
  SaveDone save_done_;
  RestoreDone restore_done_;

  std::string partial_;  // The frames of a message that is not complete yet.
  std::optional<wire::ToHost> partial_kind_;
  Outcome outcome_;
  std::vector<OpenCall> open_calls_;
  std::size_t open_call_bytes_ = 0;  // The size of their packed arguments.
  std::vector<std::pair<std::size_t, std::string>>
      kept_arguments_;                      // Index in outcome_.calls, packed.
  std::vector<EarlyAnswer> early_answers_;  // Given before Continue.
  struct EarlyCall {
    std::uint32_t seq;
    std::string trace;
    std::string packed;
  };
  std::vector<EarlyCall> early_calls_;  // Made before Continue.
  std::size_t early_call_bytes_ = 0;
  std::optional<Outcome> early_end_;
  std::uint32_t next_seq_ = 0;
  bool any_seq_ = false;  // After a restore the next number is known only to be new.
  std::uint64_t file_bytes_ = 0;
  std::uint64_t files_with_contents_ = 0;
  std::uint64_t kept_argument_bytes_ = 0;

  std::shared_ptr<HostFiles> host_files_;   // Shared with the opener of the cell; may be null.
  std::shared_ptr<PreparedCell> prepared_;  // Shared with the opener of the cell; may be null.
  std::optional<Preparation> preparation_;
  asio::any_io_executor lane_;
  std::uint64_t file_requests_ = 0;      // Number of requests so far.
  std::uint64_t open_file_request_ = 0;  // The request that waits for its answer; 0: none.
  std::vector<HostChange> changes_;
  Layer layer_;
  std::optional<std::string> distrusted_;
};

}  // namespace caisson
