// ResumeState has what a run needs besides its code to wait for a decision, sleep, and continue
// elsewhere: a recording of its clock readings, a journal of its calls, and an observer of its
// cell.
//
// Trust     Saved cells have been unsealed by the caller, so they are ours.
// Threads   The observer is called on the executor of the run's cell.
// Lifetime  Observer and journal are shared with the run and stay until it has ended.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "store/ids.h"
#include "tools/call_journal.h"

namespace caisson {

// Can use the cell of a run while the run is under way, to save it or to cancel it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Called before the code starts. `session` is the session of the cell, if there is one.
  virtual void OnCell(Cell& cell, const std::optional<SessionId>& session) = 0;
  // Same as RunEvents::OnSleep.
  virtual void OnSleep(std::optional<HostTime> /*until*/) {}
  // No call is answered any more, and open calls are cancelled next. The observer completes the
  // outcome with what the cell cannot know.
  virtual void OnEnd(Result<Outcome>& outcome) = 0;
  // Returns when the observer no longer uses the cell, which is destroyed then.
  virtual asio::awaitable<void> LetGo() = 0;
};

struct ResumeState {
  std::optional<Recording> recording{};
  std::shared_ptr<CallJournal> journal{};
  std::shared_ptr<RunObserver> observer{};
  std::optional<SavedCell> saved{};   // The run continues from here. Never set in a session.
  std::vector<RecordedCall> calls{};  // The calls it had made by then, answered or not.
  // Added to the wall limit of the cell. The observer enforces the limit itself, because waiting
  // for a decision does not count.
  std::chrono::nanoseconds spare_wall_time{};
};

}  // namespace caisson
