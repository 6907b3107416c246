// The Worker takes runs from the host, lets their cells share its one thread, and sends back their
// messages.
//
// Ready cells wait in two queues: those that just arrived, were answered or woke, and those that
// used up a slice. The first queue goes first, but never starves the second. A cell runs until it
// waits, ends, or is preempted by the timer because another cell wants the thread. So neither a
// waiting nor a computing cell blocks another.
//
// Trust     Cells are hostile, see Cell. Frames from the host are trusted; a malformed one ends the
//           worker.
// Threads   One. OnTick runs in the timer's signal handler, and only while guest code runs.
// Lifetime  Until the host kills the process.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/wasm/worker/worker_cell.h"

namespace caisson::worker {

struct WorkerOptions {
  bool verify_reset = false;  // Compare every reset cell with the base, byte by byte (tests).
};

class Worker {
 public:
  Worker(const BaseFile& base, const LibraryImage& library, DirtyPages& dirty, HostChannel& channel,
         std::span<const std::uint8_t> build_id, WorkerOptions options);

  // Prepares the first cells. Call it before Run(), before or after the jail closes.
  Result<void> Prepare();

  [[noreturn]] void Run();

  // Called by the timer while guest code runs. Returns whether to preempt the cell.
  static bool OnTick();

 private:
  void HandleFrames();
  void Handle(wire::ToWorker kind, std::uint64_t id, std::string_view payload);
  void Start(std::uint64_t id, std::string_view payload);
  void Again(std::uint64_t id, std::string_view payload);
  void Answer(std::uint64_t id, std::string_view payload);
  void AnswerFile(std::uint64_t id, std::string_view payload);
  void Save(std::uint64_t id, std::string_view payload);
  static bool CanSave(const WorkerCell& cell);
  void SaveNow(WorkerCell& cell, const wire::SaveHeader& header);
  void RefuseSave(std::uint64_t id);
  void Restore(std::uint64_t id, std::string_view payload);
  void Refuse(std::uint64_t id, const Error& why);

  void HandleTimers();
  void RunSlice(WorkerCell& cell);
  void Settle(WorkerCell& cell, Left left);
  void End(WorkerCell& cell, wire::Ending ending, std::uint32_t detail);
  void FinishNow(WorkerCell& cell);
  void CleanUpSlice();
  void Discard(WorkerCell& cell);
  void Keep(std::unique_ptr<WorkerCell> cell);
  void MakeReady(WorkerCell& cell);
  void SetTimer(std::uint64_t at_ns, const WorkerCell& cell);
  void Unschedule(const WorkerCell& cell);
  WorkerCell* PickNext();
  void Wait();

  WorkerCell* Find(std::uint64_t id);
  std::unique_ptr<WorkerCell> TakeClean();
  Result<std::unique_ptr<WorkerCell>> MakeCell();

  const BaseFile& base_;
  const LibraryImage& library_;
  DirtyPages& dirty_;
  HostChannel& channel_;
  std::span<const std::uint8_t> build_id_;
  WorkerOptions options_;

  std::unordered_map<std::uint64_t, std::unique_ptr<WorkerCell>> cells_;
  std::vector<std::unique_ptr<WorkerCell>> clean_;
  std::deque<WorkerCell*> fresh_;   // Ready, and have not used up a slice.
  std::deque<WorkerCell*> spent_;   // Ready; preempted by the timer.
  std::deque<WorkerCell*> ending_;  // Still have data to send, more than one slice.
  // Still have memory to give back, more than one slice.
  std::deque<std::unique_ptr<WorkerCell>> discarded_;
  int fresh_in_a_row_ = 0;
  // (time, cell): check the cell at that time.
  std::set<std::pair<std::uint64_t, std::uint64_t>> timers_;
  // A save requested while the cell still computed. It is done when the cell waits, and refused if
  // that takes too long.
  struct PendingSave {
    wire::SaveHeader header;
    std::uint64_t until_ns;
  };
  std::unordered_map<std::uint64_t, PendingSave> pending_saves_;
  std::string message_;  // Frames of one message, joined.
  WorkerCell* running_ = nullptr;
  bool ticking_ = false;
  bool last_was_quick_ = true;  // The last slice ended before its time was over.
};

}  // namespace caisson::worker
