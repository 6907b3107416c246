// A CellProcess is one native cell: a confined process that waits for a run, executes it, and is
// killed.
//
// It enforces the limits that the kernel does not enforce by itself: wall time, CPU time, output.
// The run ends for the caller only when the fork server has reported that the whole process tree is
// dead and reaped (I8). Then the pipes are read to their end and the files are captured (I11).
//
// Trust     Everything that it writes is hostile (I9). It can achieve nothing worse than being
//           killed, and no other cell is affected.
// Threads   The thread of its lane.
// Lifetime  Shared by its fork server, by the code that keeps it for the next run, and by the
//           handlers that wait for its descriptors. It ends after OnGone or OnLost.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/host/cell_link.h"
#include "engine/host/cell_protocol.h"
#include "engine/native/captured_files.h"
#include "engine/native/cell_questions.h"
#include "engine/native/cell_variety.h"
#include "engine/native/pipe_budget.h"
#include "engine/native/process_clock.h"
#include "engine/native/scratch_space.h"
#include "engine/native/stream_frames.h"
#include "jail/cgroup.h"
#include "wire/fork_server_messages.h"

namespace caisson {

// The fork server that made the cell and can make copies of it.
struct CellParent {
  std::size_t lane = 0;
  std::uint64_t number = 0;  // A number that is unique in this process.
  bool copies = false;       // Whether it can make copies.
  std::chrono::nanoseconds copied_within = std::chrono::seconds(10);
  ScratchSpace* scratch = nullptr;  // Outlives it, as does the next.
  PipeBudget* pipes = nullptr;      // Null: the cell can make no pipes.
};

struct CellDescriptors {
  UniqueFd socket;
  UniqueFd out;
  UniqueFd err;
  UniqueFd files;                // A directory; may not be open.
  std::vector<UniqueFd> layers;  // One for each writable mount, in order.
  UniqueFd listener;             // The listener of the cell's counted calls; may not be open.
};

class CellProcess final : public CellLink, public std::enable_shared_from_this<CellProcess> {
 public:
  CellProcess(asio::io_context& context, std::uint64_t number, CellVariety variety,
              const Boundary& boundary, CellParent parent);

  // Makes a cgroup if the cell may have several processes, and returns the descriptors to enter it;
  // otherwise returns none. Without a cgroup memory is limited per process, which is enough for
  // one.
  std::vector<UniqueFd> MakeGroup();

  // Reports of the fork server about the cell, in this order. `boundary` is copied because it
  // outlives the fork server.
  void OnBorn(UniqueFd pidfd) { pidfd_ = std::move(pidfd); }
  Result<void> OnPrepared(CellDescriptors descriptors);
  void OnFailed() { failed_ = true; }
  void OnGone(const wire::CellGone& gone);
  // The fork server is gone, and the cell with it.
  void OnLost(RunReason reason, const std::string& why);

  // Waits for a run for this time, then ends. `witness` is released when a run takes the cell, or
  // with the cell.
  void Reserve(std::chrono::nanoseconds keep, std::shared_ptr<void> witness);
  // The run has arrived: changes that others make below its mounts from now on are made during the
  // run. Calls `then`, at once or when no later change can have an earlier time stamp. The run can
  // be sent in `then` if the cell still waits().
  void EndReserve(std::move_only_function<void()> then);

  // Kills the process tree; OnGone follows.
  void Kill();

  std::uint64_t number() const { return number_; }
  const CellVariety& variety() const { return variety_; }
  bool born() const { return pidfd_.is_open(); }
  bool prepared() const { return prepared_; }
  bool failed() const { return failed_; }
  SteadyTime asked_at() const { return asked_at_; }
  // Returns whether it is in use. A cell that is not can be given to any owner.
  bool taken() const { return taken_; }
  // Returns whether a run can be sent: the cell is made, had no run and has not ended.
  bool waits() const { return prepared_ && !taken_ && !killed_at_ && !gone_; }
  // Asks the kernel whether the process still runs. The news of its end can be under way.
  bool IsAlive() const;
  // The time since which the fork server owes OnGone.
  std::optional<SteadyTime> killed_at() const { return killed_at_; }

  // CellLink. There is one cell behind it, so cell numbers are ignored.
  Result<void> Send(wire::ToWorker kind, std::uint64_t cell, std::string_view head,
                    std::string_view body) override;
  void Attach(std::shared_ptr<CellProtocol> protocol) override;
  void Detach(CellProtocol& protocol) override;
  void ExpectStraySaveAnswer(std::uint64_t /*cell*/) override {}
  void Defer(std::move_only_function<void()> completion) override;
  std::optional<CellOrigin> origin() const override;
  const Boundary& boundary() const override { return boundary_; }

 private:
  using Descriptor = asio::posix::stream_descriptor;
  // One of the two pipes.
  struct Output {
    Output(asio::io_context& context, char stream_number)
        : descriptor(context), stream(stream_number) {}
    int fd() { return rest.is_open() ? rest.get() : descriptor.native_handle(); }
    Descriptor descriptor;
    UniqueFd rest;      // Its descriptor after a cell was killed, when it is no longer watched.
    const char stream;  // As in kOutput.
    std::uint64_t room = 0;
    bool truncated = false;
  };

  enum class Pending { kMore, kNone, kEnd };  // Result of a read.

  Result<void> RequireCopies() const;
  Result<void> OnAskProcessMap();
  Result<void> SendProcessMap();
  void AwaitEndOfThreads();
  Result<void> RequireCleanLayers() const;
  void AwaitAnswer();
  void BeginRun(const wire::StartHeader& start);
  void AwaitSocket();
  void AwaitOutput(Output& output);
  void OnSocketReadable();
  Pending ReadSocket();
  Result<void> HandleFrames();
  Result<void> OnFrame(const StreamedFrame& frame);
  Result<void> OnDoneFrame(const StreamedFrame& frame);
  Result<void> FinishKept();
  bool ReadOutput(Output& output);
  void ReadOutputs();
  void Queue(wire::ToWorker kind, std::string_view head, std::string_view body);
  void Flush();

  void AwaitQuestions();
  bool IsBeyondItsFiles() const;
  void AwaitTick(std::move_only_function<void()> then);
  void SetTimer();
  void OnTimer();
  std::optional<std::chrono::nanoseconds> CpuUsed() const;

  void End(Verdict verdict);
  void ReadTheRest();
  void CaptureFiles(const wire::CellGone& gone);
  void CaptureLayers();
  void Conclude(const wire::CellGone& gone);
  wire::DoneHeader Measured() const;
  void CloseAll();

  std::shared_ptr<void> witness_;  // Of Reserve(). Released last.
  asio::io_context& context_;
  const std::uint64_t number_;
  const CellVariety variety_;
  Boundary boundary_;
  const CellParent parent_;

  const SteadyTime asked_at_ = std::chrono::steady_clock::now();
  bool prepared_ = false;
  bool failed_ = false;

  std::optional<jail::Cgroup> group_;
  UniqueFd pidfd_;
  UniqueFd files_;
  std::vector<UniqueFd> layers_;
  std::optional<CellQuestions> questions_;
  Descriptor asks_;  // Its listener.
  Descriptor socket_;
  Output out_;
  Output err_;
  StreamFrames frames_;
  std::deque<std::string> unsent_;  // Frames. The first part is being sent.
  std::size_t sent_ = 0;            // Bytes of the first part that are sent.
  std::size_t unsent_bytes_ = 0;    // Of all parts, without what is sent.
  bool is_corked_ = false;          // Messages are collected and sent together.
  bool awaits_room_ = false;        // A handler waits until the socket accepts more of unsent_.

  std::shared_ptr<CellProtocol> protocol_;
  bool reserved_ = false;
  bool taken_ = false;
  std::optional<std::chrono::system_clock::time_point> begins_at_;  // After EndReserve().
  wire::StartHeader start_{};
  SteadyTime started_at_{};
  std::optional<SteadyTime> reported_at_;
  std::optional<SteadyTime> answer_by_;  // Deadline for the answer to a kSave or kRestore.
  bool may_ask_process_map_ = false;
  // While the host waits for the end of threads before it sends the process map: when to look next,
  // and when to refuse.
  struct ThreadWatch {
    std::chrono::nanoseconds pause;
    SteadyTime until;
  };
  std::optional<ThreadWatch> thread_watch_;
  std::string done_;  // The part of the kDone message that has arrived.
  bool reported_ = false;
  std::optional<Verdict> verdict_;  // Why the host killed it, unless it had reported its end.
  std::optional<SteadyTime> killed_at_;
  bool gone_ = false;
  std::optional<FileCapture> capture_;  // While the files of a cell that is gone are read.

  asio::steady_timer timer_;
  std::optional<ProcessClock> clock_;
  std::chrono::nanoseconds cpu_before_{};  // CPU time that it had used before its run.
  std::chrono::nanoseconds cpu_used_{};
  std::uint64_t peak_memory_bytes_ = 0;
};

}  // namespace caisson
