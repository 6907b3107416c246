// ThreadRuns runs the threads of all owners: it loads a thread, decides what a request means,
// starts a turn, follows it to its end, and saves the thread before and after.
//
//   connect      no news: the stored thread is shown, nothing runs; or the run under way is joined
//   message      a turn with the new message, after all open calls have their results
//   resume       a turn with the answers to all open interrupts
//
// A thread has one run at a time, on all replicas together: the saved thread names it, and a save
// compares versions. A run goes on when its client leaves; a client that comes back joins it. If
// nobody follows it, a new message ends it and starts the next one.
//
// Trust     Requests are hostile. Threads of other owners are not found (I3, I4).
// Threads   Any executor.
// Lifetime  The services outlive it. Close() must have returned before it is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/turn_service.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/spawn.h"
#include "base/wakeup.h"
#include "caller/caller_context.h"
#include "identity/identity.h"
#include "protocol/agui/events.h"
#include "protocol/agui/resume.h"
#include "protocol/agui/run_input.h"
#include "protocol/agui/thread_run.h"
#include "store/documents.h"

namespace caisson::agui {

struct ThreadRequest {
  IsolationKey owner;
  std::string agent;
  RunInput input;
  std::string user{};  // For the record of decisions.
  std::shared_ptr<const CallerContext> caller{};
};

// The answer to a request: whole, or a run to follow.
struct WholeAnswer {
  std::vector<std::string> events;
};
using ThreadAnswer = std::variant<WholeAnswer, ThreadRun::Follower>;

// Ends a run that waits. As RunService::Cancel.
using CancelRun = std::function<asio::awaitable<Result<void>>(IsolationKey owner, RunId run)>;

class ThreadRuns {
 public:
  static constexpr std::size_t kMaxRuns = 1000;  // Of all owners.

  ThreadRuns(TurnService& turns, CancelRun cancel_run, DocumentStore& threads, const Clock& clock,
             asio::any_io_executor executor)
      : turns_(turns),
        cancel_run_(std::move(cancel_run)),
        threads_(threads),
        clock_(clock),
        executor_(std::move(executor)) {}

  // Cancelling the awaiting coroutine cancels nothing: what the request has begun goes on. Fails
  // with kFailedPrecondition if another run of the thread is under way and followed, otherwise as
  // TurnService::Start.
  asio::awaitable<Result<ThreadAnswer>> Answer(ThreadRequest request);
  // Ends the run of a thread, if there is one. What it has done is kept.
  asio::awaitable<Result<void>> Cancel(IsolationKey owner, std::string agent,
                                       std::string thread_id);
  // Follows no run any more, and returns when nothing of a request is under way here. Turns that
  // are still under way belong to the TurnService.
  asio::awaitable<void> Close();

 private:
  using Key = std::pair<IsolationKey, DocumentId>;
  struct Stored {
    Thread thread{};
    std::int64_t version = 0;
  };
  struct State {
    std::map<Key, std::shared_ptr<ThreadRun>> runs;
    std::map<Key, Stop> stops;  // Of the coroutines that follow them.
    std::size_t answering = 0;  // Requests that have no answer yet.
    bool closing = false;
    std::vector<std::shared_ptr<Wakeup>> sleepers;
  };
  // Everything about one run that is being followed to its end.
  struct Course {
    Key key;
    ThreadRequest request;
    Stored stored;
    std::shared_ptr<ThreadRun> run;
    std::string run_id{};  // The client's.
  };
  class Place;

  struct Pending;

  // The answer to a request, whether or not its client still waits.
  asio::awaitable<void> Work(ThreadRequest request, std::shared_ptr<Pending> pending);
  asio::awaitable<Result<ThreadAnswer>> Decide(ThreadRequest request);
  template <typename Change>
  void EndWork(Change change);
  Result<std::shared_ptr<ThreadRun>> Enter(const Key& key, std::shared_ptr<ThreadRun> run);
  void Leave(const Key& key, const std::shared_ptr<ThreadRun>& run);
  // nullopt: the run there is over; try again.
  asio::awaitable<Result<std::optional<ThreadAnswer>>> Join(std::shared_ptr<ThreadRun> run,
                                                            const ThreadRequest& request);
  asio::awaitable<Result<ThreadAnswer>> Perform(Key key, ThreadRequest request,
                                                std::shared_ptr<ThreadRun> run, Place& place);
  asio::awaitable<Result<Stored>> Load(const Key& key);
  asio::awaitable<Result<void>> Save(const Key& key, Stored& stored);
  // Brings a thread up to date that a run was stored for. Returns whether the run is still under
  // way.
  asio::awaitable<Result<bool>> Settle(const Key& key, Stored& stored);
  asio::awaitable<Result<ThreadAnswer>> Begin(Course course, TurnSpec spec, Place& place);
  asio::awaitable<WholeAnswer> CancelInterrupts(Course course);

  void Launch(Course course);
  asio::awaitable<void> Follow(Course course);
  asio::awaitable<Result<TurnView>> FollowTurn(Course& course, const ResponseId& turn);
  // Applies the calls of the state tool. Returns whether the turn can go on by itself.
  bool ApplyState(Course& course, const TurnView& turn);
  asio::awaitable<bool> GoOn(Course& course);
  void Conclude(Course& course, const Result<TurnView>& turn, model::TokenUsage usage);

  void Push(const Course& course, Dict event, Weight weight = Weight::kNeeded) const {
    course.run->Push(ToText(std::move(event), clock_.Now()), weight);
  }
  WholeAnswer Whole(const std::vector<Dict>& events) const;
  WholeAnswer Refuse(const ThreadRequest& request, std::string_view message,
                     std::string_view code) const;
  WholeAnswer Show(const ThreadRequest& request, const Thread& thread, Finish finish = {}) const;

  TurnService& turns_;
  const CancelRun cancel_run_;
  DocumentStore& threads_;
  const Clock& clock_;
  const asio::any_io_executor executor_;
  Guarded<State> state_;
};

}  // namespace caisson::agui
