#include "engine/wasm/wasm_cell.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace caisson {
namespace {

template <typename T>
using Done = std::move_only_function<void(Result<T>)>;
using Session = std::shared_ptr<CellSession>;

// Calls `handler` on its own executor: directly if that is this lane's.
template <typename T, typename Handler>
Done<T> OnItsExecutor(Lane& lane, Handler handler) {
  return [&lane, handler = std::move(handler)](Result<T> result) mutable {
    auto executor = asio::get_associated_executor(handler, lane.executor());
    const auto* own = executor.template target<asio::io_context::executor_type>();
    auto call = [handler = std::move(handler), result = std::move(result)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(result));
    };
    if (own != nullptr && &own->context() == &lane.context() && lane.is_current()) return call();
    asio::dispatch(executor, std::move(call));
  };
}

// Calls `action` on the lane with a Done for the awaiting coroutine. Cancelling a coroutine that
// awaits an outcome ends the run.
template <typename T, typename Action>
asio::awaitable<Result<T>> OnLane(Lane& lane, Session session, Action action) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Result<T>)>(
      [](auto handler, Lane* lane, Session session, Action action) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (std::is_same_v<T, Outcome> && slot.is_connected()) {
          slot.assign([lane, weak = std::weak_ptr(session)](asio::cancellation_type) {
            asio::dispatch(lane->context(), [weak] {
              if (auto session = weak.lock()) session->Cancel();
            });
          });
        }
        Done<T> done = OnItsExecutor<T>(*lane, std::move(handler));
        if (lane->is_current()) return action(std::move(session), std::move(done));
        asio::post(lane->context(), [session = std::move(session), action = std::move(action),
                                     done = std::move(done)]() mutable {
          action(std::move(session), std::move(done));
        });
      },
      asio::use_awaitable, &lane, std::move(session), std::move(action));
}

// An awaiting coroutine must not be resumed before it is asleep.
template <typename T>
void Fail(Lane& lane, Done<T> done, Error error) {
  asio::post(lane.context(), [done = std::move(done), error = std::move(error)]() mutable {
    done(std::move(error));
  });
}

// Counts a run from its start to its end, whichever way that comes.
class RunCount {
 public:
  explicit RunCount(EngineShared& shared) : shared_(&shared) {
    shared.runs_started.fetch_add(1, std::memory_order_relaxed);
  }
  RunCount(RunCount&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  RunCount& operator=(RunCount&&) = delete;
  ~RunCount() {
    if (shared_ != nullptr) shared_->runs_ended.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  EngineShared* shared_;
};

Result<void> CheckRequest(const RunRequest& request, const Limits& ceiling) {
  TRY(CheckLimits(request.limits, ceiling));
  if (request.code.size() > request.limits.code_bytes) {
    return Error(ErrorCode::kInvalidArgument,
                 "the code has " + std::to_string(request.code.size()) + " bytes; at most " +
                     std::to_string(request.limits.code_bytes) + " are allowed (code_bytes)");
  }
  for (const InputFile& file : request.files) {
    if (!file.path.starts_with("/input/") || file.contents == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "input files have contents and lie below /input");
    }
  }
  return {};
}

Done<Outcome> Counted(Lane& lane, Done<Outcome> done) {
  return
      [count = RunCount(lane.shared()), done = std::move(done)](Result<Outcome> outcome) mutable {
        {
          const RunCount ended = std::move(count);
        }
        done(std::move(outcome));
      };
}

// Sends a fresh cell's run to the lane's worker, once there is one.
void StartFresh(Lane& lane, Session session, RunRequest request, RunEvents& events, AfterRun after,
                Done<Outcome> done) {
  session->BeginStarting();
  lane.WithWorker([&lane, &events, session, request = std::move(request), after,
                   done = std::move(done)](Result<WorkerLink*> link) mutable {
    if (!session->EndStarting()) {
      if (session->abandoned()) return;
      Outcome outcome;
      outcome.run_id = NewRunId();
      outcome.status = RunStatus::kCancelled;
      outcome.reason = RunReason::kKilled;
      asio::post(lane.context(), [done = std::move(done), outcome = std::move(outcome)]() mutable {
        done(std::move(outcome));
      });
      return;
    }
    if (!link) return Fail(lane, std::move(done), std::move(link).error());
    const std::uint64_t id = lane.shared().next_cell.fetch_add(1, std::memory_order_relaxed);
    auto started = session->Start(**link, id, std::move(request), events, after, std::move(done));
    if (!started) Fail(lane, std::move(done), std::move(started).error());
  });
}

}  // namespace

WasmCell::WasmCell(Lane& lane, OwnerId owner, Admission::Place place,
                   std::chrono::nanoseconds queued)
    : lane_(lane),
      session_(std::make_shared<CellSession>(std::move(owner), std::move(place), queued)) {}

WasmCell::~WasmCell() {
  if (lane_.is_current()) {
    session_->Abandon();
  } else {
    asio::post(lane_.context(), [session = std::move(session_)] { session->Abandon(); });
  }
}

asio::any_io_executor WasmCell::executor() const {
  return lane_.executor();
}

asio::awaitable<Result<Outcome>> WasmCell::Run(RunRequest request, RunEvents& events,
                                               AfterRun after) {
  return OnLane<Outcome>(
      lane_, session_,
      [&lane = lane_, &events, request = std::move(request), after](Session session,
                                                                    Done<Outcome> done) mutable {
        if (auto good = CheckRequest(request, lane.shared().ceiling); !good) {
          return Fail(lane, std::move(done), std::move(good).error());
        }
        if (session->run_under_way() || session->starting()) {
          return Fail(lane, std::move(done),
                      Error(ErrorCode::kFailedPrecondition, "a run is under way in this cell"));
        }
        if (session->empty()) {
          return StartFresh(lane, std::move(session), std::move(request), events, after,
                            Counted(lane, std::move(done)));
        }
        Done<Outcome> counted = Counted(lane, std::move(done));
        auto again = session->Again(std::move(request), events, after, std::move(counted));
        if (!again) Fail(lane, std::move(counted), std::move(again).error());
      });
}

asio::awaitable<Result<Outcome>> WasmCell::Continue(RunEvents& events, AfterRun after) {
  return OnLane<Outcome>(
      lane_, session_,
      [&lane = lane_, &events, after](const Session& session, Done<Outcome> done) mutable {
        Done<Outcome> counted = Counted(lane, std::move(done));
        if (auto ended = session->TakeEarlyEnd()) {
          asio::post(lane.context(),
                     [&events, ended = *std::move(ended), counted = std::move(counted)]() mutable {
                       events.OnOutput(OutputStream::kStdout, ended.stdout_text);
                       events.OnOutput(OutputStream::kStderr, ended.stderr_text);
                       counted(std::move(ended));
                     });
          return;
        }
        auto good = session->Continue(events, after, std::move(counted));
        if (!good) Fail(lane, std::move(counted), std::move(good).error());
      });
}

Result<void> WasmCell::Answer(std::uint32_t seq, ToolAnswer answer) {
  return session_->Answer(seq, std::move(answer));
}

asio::awaitable<Result<SavedCell>> WasmCell::Save(AfterSave after) {
  return OnLane<SavedCell>(
      lane_, session_,
      [&lane = lane_, after](const Session& session, Done<SavedCell> done) mutable {
        auto good = session->Save(after, lane.shared().max_saved_bytes, std::move(done));
        if (!good) Fail(lane, std::move(done), std::move(good).error());
      });
}

asio::awaitable<Result<void>> WasmCell::Restore(SavedCell saved, Limits limits) {
  return OnLane<void>(
      lane_, session_,
      [&lane = lane_, saved = std::move(saved), limits](Session session, Done<void> done) mutable {
        lane.WithWorkerOf(
            session->owner(), [&lane, session, saved = std::move(saved), limits,
                               done = std::move(done)](Result<WorkerLink*> link) mutable {
              if (!link) return Fail(lane, std::move(done), std::move(link).error());
              const std::uint64_t id =
                  lane.shared().next_cell.fetch_add(1, std::memory_order_relaxed);
              auto good = session->Restore(**link, id, saved, limits, std::move(done));
              if (!good) Fail(lane, std::move(done), std::move(good).error());
            });
      });
}

void WasmCell::Cancel() {
  if (lane_.is_current()) return session_->Cancel();
  asio::post(lane_.context(), [session = session_] { session->Cancel(); });
}

}  // namespace caisson
