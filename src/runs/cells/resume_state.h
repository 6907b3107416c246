// ResumeState is what a run needs besides its code so that it can wait for somebody, be put to sleep and go on
// elsewhere: a recording of what its clocks told it, a journal of its calls, and a observer of its cell.
//
// Trust     Saved cells have been unsealed by whoever gives them: they are ours.
// Threads   The observer is called on the executor of the run's cell.
// Lifetime  Keeper and journal are shared with the run and stay until it has ended.
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

// Has the cell of a run in its hands while the run is under way, and so can save or cancel it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Before the first instruction. `session`: the session that the cell belongs to, if any.
  virtual void OnCell(Cell& cell, const std::optional<SessionId>& session) = 0;
  // As RunEvents::OnSleep.
  virtual void OnSleep(std::optional<HostTime> /*until*/) {}
  // Nothing is answered any more; calls under way are cancelled next. Before anybody else sees the outcome, the observer
  // says in it what the cell cannot know.
  virtual void OnEnd(Result<Outcome>& outcome) = 0;
  // Returns when the cell is not used any more: it goes then.
  virtual asio::awaitable<void> LetGo() = 0;
};

struct ResumeState {
  std::optional<Recording> recording{};
  std::shared_ptr<CallJournal> journal{};
  std::shared_ptr<RunObserver> observer{};
  std::optional<SavedCell> saved{};   // Goes on from here; never in a session.
  std::vector<RecordedCall> calls{};  // What it had called by then, answered or not.
  // More than the limits say, because the observer counts: waiting for somebody is not the run's time.
  std::chrono::nanoseconds spare_wall_time{};
};

}  // namespace caisson
