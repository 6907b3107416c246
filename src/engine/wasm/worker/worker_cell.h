// A Cell is one isolated interpreter in this worker: its memory, its position in the code, its
// files, and the limits of the run it serves.
//
// Trust     The code inside is hostile. It reaches this object only through the functions it
//           imports (host_imports.cc, wasi_imports.cc), which check every argument against its
//           memory.
// Threads   The worker's only thread.
// Lifetime  Serves one run after another. Between two runs Reset() restores the base, bit for bit
//           (I8), unless the host asked to keep the cell for its owner's next run.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wasm/worker/chance.h"
#include "engine/wasm/worker/context.h"
#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/guest_host.h"
#include "engine/wasm/worker/host_channel.h"
#include "engine/wasm/worker/linear_memory.h"
#include "engine/wasm/worker/trace.h"
#include "wire/frames.h"

namespace caisson::worker {

std::uint64_t RealNow();
std::uint64_t MonotonicNow();
std::uint64_t ThreadCpuNow();

// Returns the limits of a cell's files: the run's limits, and space for scratch files that are not
// captured.
FileLimits FileLimitsOf(const wire::StartHeader& start);

enum class CellState {
  kClean,   // Equal to the base; has no owner.
  kReady,   // Can continue: just started, answered, or preempted by the timer.
  kParked,  // In host_wait.
  kAsking,  // In a WASI call that waits for the host's answer about one of its files.
  kEnding,  // Its run has ended; its files and report are being sent.
  kIdle,    // Its run has ended and the host keeps it.
};

class WorkerCell final : public GuestHost {
 public:
  WorkerCell(LinearMemory memory, const LibraryImage& library, HostChannel& channel);

  // Starts a run in a clean cell, or the next one in an idle cell. `trace`: the recording to
  // replay.
  Result<void> Start(std::uint64_t id, const wire::StartHeader& start, std::string_view request,
                     std::string_view trace, std::vector<InputFile> files,
                     std::vector<Mount> mounts);
  void Again(const wire::StartHeader& start, std::string_view request);

  // Runs until the guest leaves, and updates state().
  Left Go();

  // Returns whether an answer of this size may wait here until the guest reads it. What waits is
  // counted as memory of the cell.
  bool HasRoomFor(std::size_t answer_bytes) const;

  // Takes an answer to an open call. Returns false if there is no such call. A parked cell that
  // waited for the answer becomes ready.
  bool Answer(const wire::AnswerHeader& header, std::string_view answer);

  // Takes the host's answer about a file. Returns whether the cell waited for it and became ready.
  bool AnswerFile(const wire::FileAnswerHeader& header, std::string_view bytes);

  // The time at which a parked cell continues without an answer; 0: never. Wake() then makes it
  // ready.
  std::uint64_t wake_ns() const { return wake_ns_; }
  void Wake();
  // Returns whether a recorded run will soon continue by itself, so that saving it is not
  // worthwhile.
  bool goes_on_soon() const;

  // Returns the limit that is exceeded at `now_ns`. nullopt: none.
  std::optional<wire::Ending> PassedLimit(std::uint64_t now_ns) const;
  std::uint64_t deadline_ns() const { return deadline_ns_; }

  // Ends the run. FinishSlice() then sends a slice of the run's files and, in the last slice, the
  // end itself; it then returns true. After that the cell is idle or must be Reset().
  void BeginFinish(wire::Ending ending, std::uint32_t detail);
  bool FinishSlice();
  void Reset();

  // Sends the output that has not been sent yet, as far as it fits now.
  void FlushOutput();
  void TryFlushOutput();
  // Sends the rest of a call whose first part was sent. No other message of this cell may come
  // between.
  void FlushPosted() { SendPosted(posting_.size()); }

  // Save turns a parked or idle cell into bytes (saved_cell.h); Restore loads them into a clean
  // cell. Bytes beyond `max_bytes` are left out. For a recorded run, SendTail() comes before the
  // bytes are sent.
  std::string Save(std::span<const std::uint8_t> build_id, std::uint64_t max_bytes);
  void SendTail();
  Result<void> Restore(std::uint64_t id, const wire::StartHeader& start, std::vector<Mount> mounts,
                       std::string_view trace, std::span<const std::uint8_t> blob,
                       std::span<const std::uint8_t> build_id);
  // Tells the host that a restored run sleeps.
  void TellSleep();

  std::uint64_t id() const { return id_; }
  CellState state() const { return state_; }
  const std::vector<std::uint32_t>& open_calls() const { return open_calls_; }
  std::uint64_t peak_bytes() const { return memory_.bytes(); }
  LinearMemory& memory() { return memory_; }

  // GuestHost.
  GuestMemory guest_memory() override { return {memory_.data(), memory_.bytes()}; }
  CellFiles& files() override { return files_; }
  std::optional<std::int32_t> Post(std::uint32_t address, std::uint32_t length,
                                   Progress& progress) override;
  std::optional<std::uint32_t> Take(std::uint32_t address, std::uint32_t capacity,
                                    Progress& progress) override;
  bool Report(std::uint32_t address, std::uint32_t length, Progress& progress) override;
  void AskHost() override;
  std::uint32_t Grow(std::uint32_t delta) override;
  void Write(Stream stream, std::span<const std::uint8_t> bytes) override;
  std::uint64_t Clock(ClockId clock) override;
  void Random(std::span<std::uint8_t> out) override;

 private:
  struct ReceivedAnswer {
    std::uint32_t seq;
    std::string bytes;
  };

  void BeginRun(const wire::StartHeader& start, std::string_view request);
  void Park();
  void ParkAsRecorded(const TraceEntry& recorded);
  void SleepUntil(std::uint64_t wake_ns);
  void BeginPost(std::string_view message);
  void SendPosted(std::size_t bytes);
  bool DeliverAwaited();
  void EndWait(TraceEntry how);
  std::uint64_t ReadClock(ClockId clock) const;
  void FollowRecordedClock(std::uint64_t reading);
  std::uint64_t RealWakeTime() const;
  [[noreturn]] void Stop(wire::Ending ending);
  // The end of the run, while its files are being sent.
  struct Finishing {
    wire::Ending ending;
    std::uint32_t detail;
    Capture capture;
    std::size_t next = 0;                // The file that is sent next.
    std::uint64_t total_bytes = 0;       // Size of the files whose sending has begun.
    const CapturedFile* open = nullptr;  // A file that is partly sent.
    std::uint64_t sent_bytes = 0;        // How much of its contents is sent.
  };
  void BeginFile(const CapturedFile& file);
  wire::Omitted OmittedBecause(const CapturedFile& file);
  std::uint64_t SendContents(std::string_view head);
  void SendDone();
  Trace::Base TraceBase() const { return {RealNow(), ReadClock(ClockId::kMonotonic)}; }

  HostChannel& channel_;
  const LibraryImage& library_;
  LinearMemory memory_;
  Context context_;
  CellFiles files_;
  // The input files of files_, which a saved cell contains as well.
  std::vector<InputFile> inputs_;

  std::uint64_t id_ = 0;
  CellState state_ = CellState::kClean;
  wire::StartHeader start_{};
  std::deque<std::string> messages_;     // Messages that the guest has not taken yet.
  std::vector<ReceivedAnswer> answers_;  // Arrived, not yet waited for.
  std::vector<std::uint32_t> open_calls_;
  std::uint32_t calls_ = 0;
  std::string_view
      posting_;  // The part of the posted call that is not sent yet; it lies in the guest's memory.
  std::int32_t wait_seq_ = 0;
  bool wait_varies_ = false;  // The end of the wait depends on time and is recorded.
  std::uint64_t wake_ns_ = 0;
  bool told_sleep_ = false;  // The host knows that the cell sleeps.
  std::int32_t wait_answer_ = 0;
  std::uint32_t file_requests_ = 0;  // Requests made so far; also the number of the last one.
  bool asking_ = false;              // The last request is open.
  // The guest is about to wait for the answer. The timer may preempt it before it waits, and the
  // answer may arrive first.
  bool about_to_wait_ = false;

  std::optional<Finishing> finishing_;
  std::string report_;
  bool reported_ = false;
  std::string output_;
  Stream output_stream_ = Stream::kOut;
  std::uint64_t written_bytes_[2] = {};
  std::uint32_t flags_ = 0;

  std::uint64_t arrived_ns_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t deadline_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;  // CPU time used before the current Go().
  // The thread's CPU time at the start of the current Go(); 0: none.
  std::uint64_t cpu_since_ns_ = 0;
  std::int64_t clock_offset_ns_ = 0;  // Added to the monotonic clock so that it never goes back.
  Trace trace_;                       // Used by recorded runs.
  ChanceStream chance_;
};

}  // namespace caisson::worker
