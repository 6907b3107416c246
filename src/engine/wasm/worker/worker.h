// The Worker: takes runs from the host, lets their cells share this one thread, sends back what they
// say.
//
// Cells that can go on wait in two lines: those that just arrived, were answered or woke, and those
// that used up a slice. The first goes first, but never starves the second. A cell runs until it
// waits, ends, or the timer takes it off because somebody else wants the thread; so neither a waiting
// nor a computing cell blocks another.
//
// Trust     Cells are hostile, see Cell. Frames from the host are trusted; malformed ones end us.
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

#include "engine/wasm/worker/cell.h"

namespace caisson::worker {

struct WorkerOptions {
  bool verify_reset = false;  // Compare every reset cell with the base, byte by byte (tests).
};

class Worker {
 public:
  Worker(const BaseFile& base, const LibraryImage& library, DirtyPages& dirty, HostChannel& channel,
         std::span<const std::uint8_t> build_id, WorkerOptions options);

  // Makes the first cells ready. Before the jail closes or after, but before Run().
  Result<void> Prepare();

  [[noreturn]] void Run();

  // The timer's question while guest code runs: take the cell off?
  static bool OnTick();

 private:
  void HandleFrames();
  void Handle(wire::ToWorker kind, std::uint64_t id, std::string_view payload);
  void Start(std::uint64_t id, std::string_view payload);
  void Again(std::uint64_t id, std::string_view payload);
  void Answer(std::uint64_t id, std::string_view payload);
  void AnswerFile(std::uint64_t id, std::string_view payload);
  void Save(std::uint64_t id, std::string_view payload);
  static bool CanSave(const Cell& cell);
  void SaveNow(Cell& cell, const wire::SaveHeader& header);
  void RefuseSave(std::uint64_t id);
  void Restore(std::uint64_t id, std::string_view payload);
  void Refuse(std::uint64_t id, const Error& why);

  void HandleTimers();
  void RunSlice(Cell& cell);
  void Settle(Cell& cell, Left left);
  void End(Cell& cell, wire::Ending ending, std::uint32_t detail);
  void FinishNow(Cell& cell);
  void CleanUpSlice();
  void Discard(Cell& cell);
  void Keep(std::unique_ptr<Cell> cell);
  void MakeReady(Cell& cell);
  void SetTimer(std::uint64_t at_ns, const Cell& cell);
  void Unschedule(const Cell& cell);
  Cell* PickNext();
  void Wait();

  Cell* Find(std::uint64_t id);
  std::unique_ptr<Cell> TakeClean();
  Result<std::unique_ptr<Cell>> MakeCell();

  const BaseFile& base_;
  const LibraryImage& library_;
  DirtyPages& dirty_;
  HostChannel& channel_;
  std::span<const std::uint8_t> build_id_;
  WorkerOptions options_;

  std::unordered_map<std::uint64_t, std::unique_ptr<Cell>> cells_;
  std::vector<std::unique_ptr<Cell>> clean_;
  std::deque<Cell*> fresh_;                      // Ready, and have not used up a slice.
  std::deque<Cell*> spent_;                      // Ready, taken off by the timer.
  std::deque<Cell*> ending_;                     // Have more to send than a slice.
  std::deque<std::unique_ptr<Cell>> discarded_;  // Have more to give back than a slice.
  int fresh_in_a_row_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> timers_;  // (time, cell): look at it then.
  // Asked for while the cell still computed: done when it waits, refused when that takes too long.
  struct PendingSave {
    wire::SaveHeader header;
    std::uint64_t until_ns;
  };
  std::unordered_map<std::uint64_t, PendingSave> pending_saves_;
  std::string message_;  // Frames of one message, joined.
  Cell* running_ = nullptr;
  bool ticking_ = false;
};

}  // namespace caisson::worker
