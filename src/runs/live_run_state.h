// A LiveRunState says what a LiveRun does with its cell. All transitions are in one table.
//
//   kNoCell ─> kActive ─> kSettling ─> kStoring ─> kParked
//
// A decision, or the end of a sleep, takes the run back to kActive. The other ways back are in
// live_run_state.cc.
//
// Trust     None of its own. An event that the table does not allow is a bug of ours: the state
//           stays as it is, and the caller gets an error that names both.
// Threads   One.
// Lifetime  A value.
#pragma once

#include <string_view>

#include "base/result.h"

namespace caisson {

enum class LivePhase {
  kNoCell,    // Before the first cell, between two, and after the last.
  kActive,    // The code computes, or waits for its tools.
  kSettling,  // It may wait for decisions and time alone: the cell is asked, and saved if so.
  kUnstored,  // It does, and the store cannot take it now.
  kStoring,   // The store is taking it. The calls of a decision wait until that is done.
  kParked,    // The store has it, and it waits here as well.
};

enum class LiveEvent {
  kCellComes,
  kSettle,      // Begin to find out whether the code waits.
  kStore,       // Begin to store that it does.
  kStored,      // The store has it, or has refused it for good.
  kStoreFails,  // The store cannot take it now.
  kGoOn,        // A decision came, or the code has slept enough.
  kUnsettle,    // Stop finding out.
  kCellGoes,
};

std::string_view ToString(LivePhase phase);
std::string_view ToString(LiveEvent event);

// Why this process stops holding the run before it has ended.
enum class Leaving {
  kNo,
  kAsleep,     // The store has it, and the copy here ends.
  kAbandoned,  // Another process has it, or this one cannot go on with it.
};

// How the last cell went.
enum class CellEnd {
  kPlain,
  kWaiting,    // While the run was parked or being stored.
  kOutlasted,  // Because the run had waited for the store for too long.
};

class LiveRunState {
 public:
  // Fails with kInternal if the event is not allowed now.
  Result<void> Apply(LiveEvent event);

  LivePhase phase() const { return phase_; }
  bool is_settling() const {
    return phase_ == LivePhase::kSettling || phase_ == LivePhase::kUnstored ||
           phase_ == LivePhase::kStoring;
  }
  // The run counts as waiting, and a decision must take it back.
  bool is_waiting() const { return phase_ == LivePhase::kStoring || phase_ == LivePhase::kParked; }

  Leaving leaving() const { return leaving_; }
  // The first reason stays.
  void Leave(Leaving why) {
    if (leaving_ == Leaving::kNo) leaving_ = why;
  }

  CellEnd last_end() const { return last_end_; }
  void EndCell(CellEnd end) { last_end_ = end; }

 private:
  LivePhase phase_ = LivePhase::kNoCell;
  Leaving leaving_ = Leaving::kNo;
  CellEnd last_end_ = CellEnd::kPlain;
};

}  // namespace caisson
