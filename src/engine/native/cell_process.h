// A CellProcess is one native cell: a confined process that waits for a run, has one, and is killed.
//
// What it may use is enforced here as far as the kernel does not do it by itself: wall time, CPU time,
// output. Its run ends for the front only when the nursery has said that the whole process tree is dead
// and reaped (I8); then the pipes are read to their end and the files are captured (I11).
//
// Trust     Everything it writes is hostile (I9). The worst it gets is killed, and nobody else notices.
// Threads   Its lane's.
// Lifetime  Shared by its nursery, by whoever keeps it for the next run, and by the handlers that wait
//           for its descriptors. Gone after OnGone or OnLost.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/cell_questions.h"
#include "engine/native/cell_variety.h"
#include "engine/native/process_clock.h"
#include "engine/native/scratch_space.h"
#include "engine/native/stream_frames.h"
#include "engine/session/cell_link.h"
#include "engine/session/cell_session.h"
#include "jail/cgroup.h"
#include "wire/nursery.h"

namespace caisson {

// Who made it, and can make another that becomes the same.
struct CellParent {
  std::size_t lane = 0;
  std::uint64_t number = 0;  // Counted in this process.
  bool copies = false;       // Whether it can, that is.
  std::chrono::nanoseconds copied_within = std::chrono::seconds(10);
  ScratchSpace* scratch = nullptr;  // Outlives it.
};

struct CellDescriptors {
  UniqueFd socket;
  UniqueFd out;
  UniqueFd err;
  UniqueFd files;                // A directory; may be missing.
  std::vector<UniqueFd> layers;  // Of its writable mounts, in their order.
  UniqueFd listener;             // With a scratch space: what it asks about.
};

class CellProcess final : public CellLink, public std::enable_shared_from_this<CellProcess> {
 public:
  CellProcess(asio::io_context& context, std::uint64_t number, CellVariety variety,
              const Boundary& boundary, CellParent parent);

  // A cgroup of its own, if it may have several processes, and the ways into it; without, none. Memory is
  // limited process by process otherwise, which is enough for one.
  std::vector<UniqueFd> MakeGroup();

  // What the nursery says of it, in this order. `boundary` is copied: it outlives the nursery.
  void OnBorn(UniqueFd pidfd) { pidfd_ = std::move(pidfd); }
  Result<void> OnPrepared(CellDescriptors descriptors);
  void OnFailed() { failed_ = true; }
  void OnGone(const wire::CellGone& gone);
  // The nursery itself is gone, and this with it.
  void OnLost(RunReason reason, const std::string& why);

  // Waits for a run that may come, for so long; then it goes. `witness` is let go when it has one, or with it.
  void Reserve(std::chrono::nanoseconds keep, std::shared_ptr<void> witness);
  // The run has come: what others change below its mounts from here on, they change during the run. Calls
  // `then`, in which it can be sent if the cell still waits(): at once, or when no later change can bear an
  // earlier time.
  void EndReserve(std::move_only_function<void()> then);

  // Kills the process tree; OnGone follows.
  void Kill();

  std::uint64_t number() const { return number_; }
  const CellVariety& variety() const { return variety_; }
  bool born() const { return pidfd_.is_open(); }
  bool prepared() const { return prepared_; }
  bool failed() const { return failed_; }
  SteadyTime asked_at() const { return asked_at_; }
  // Whether somebody has it. One that nobody has can be given to anybody.
  bool taken() const { return taken_; }
  // Whether a run can be sent: it was made, and neither had one nor came to an end.
  bool waits() const { return prepared_ && !taken_ && !killed_at_ && !gone_; }
  // Since when the nursery owes us its OnGone.
  std::optional<SteadyTime> killed_at() const { return killed_at_; }

  // CellLink. There is one cell behind it, so numbers do not matter.
  Result<void> Send(wire::ToWorker kind, std::uint64_t cell, std::string_view head,
                    std::string_view body) override;
  void Attach(std::shared_ptr<CellSession> session) override;
  void Detach(CellSession& session) override;
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
    UniqueFd rest;  // What it was, once nobody watches it any more: of a cell that has been killed.
    const char stream;  // As kOutput has it.
    std::uint64_t room = 0;
    bool truncated = false;
  };

  enum class Pending { kMore, kNone, kEnd };  // Whether there is more to read.

  Result<void> RequireCopies() const;
  Result<void> SendSurvey();
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
  void Flush();

  void AwaitQuestions();
  bool IsBeyondItsFiles() const;
  void AwaitTick(std::move_only_function<void()> then);
  void SetTimer();
  void OnTimer();
  std::optional<std::chrono::nanoseconds> CpuUsed() const;

  void End(Verdict verdict);
  void Conclude(const wire::CellGone& gone);
  void CaptureFiles();
  wire::DoneHeader Measured() const;
  void CloseAll();

  std::shared_ptr<void> witness_;  // Of Reserve(). Goes last.
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
  std::optional<CellQuestions> questions_;  // With a scratch space.
  Descriptor asks_;                         // Its listener.
  Descriptor socket_;
  Output out_;
  Output err_;
  StreamFrames frames_;
  std::string unsent_;
  std::size_t sent_ = 0;      // Of it.
  bool is_corked_ = false;    // What is sent is collected, and goes at once.
  bool awaits_room_ = false;  // Somebody waits until the socket takes more of unsent_.

  std::shared_ptr<CellSession> session_;
  bool reserved_ = false;
  bool taken_ = false;
  std::optional<std::chrono::system_clock::time_point> begins_at_;  // After EndReserve().
  wire::StartHeader start_{};
  SteadyTime started_at_{};
  std::optional<SteadyTime> reported_at_;
  std::optional<SteadyTime> answer_by_;  // To a kSave or kRestore.
  bool may_ask_survey_ = false;
  std::string done_;  // The kDone message, as far as it is there.
  bool reported_ = false;
  std::optional<Verdict> verdict_;  // Why we killed it, if it was not for having reported.
  std::optional<SteadyTime> killed_at_;
  bool gone_ = false;

  asio::steady_timer timer_;
  std::optional<ProcessClock> clock_;
  std::chrono::nanoseconds cpu_before_{};  // What it had used before its run.
  std::chrono::nanoseconds cpu_used_{};
  std::uint64_t peak_memory_bytes_ = 0;
};

}  // namespace caisson
