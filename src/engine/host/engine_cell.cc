#include "engine/host/engine_cell.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "engine/host/on_lane.h"

namespace caisson {
namespace {

using Protocol = std::shared_ptr<CellProtocol>;

// Counts a run from its start to its end, however it ends.
class RunCount {
 public:
  explicit RunCount(EngineState& state) : state_(&state) {
    state.runs_started.fetch_add(1, std::memory_order_relaxed);
  }
  RunCount(RunCount&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  RunCount& operator=(RunCount&&) = delete;
  ~RunCount() {
    if (state_ != nullptr) state_->runs_ended.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  EngineState* state_;
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
      return Error(ErrorCode::kInvalidArgument,
                   "an input file needs contents and a path below /input");
    }
  }
  return {};
}

// An engine that cannot save runs cannot record them either.
bool CanSaveRuns(const EngineState& state) {
  return state.max_saved_bytes != 0 && !state.saves_idle_cells_only;
}

bool HasPolicy(const RunRequest& request) {
  return !request.policy.is_none() && request.policy != Value(std::int64_t{0});
}

Done<Outcome> Counted(EngineLane& lane, Done<Outcome> done) {
  return [count = RunCount(lane.state()), done = std::move(done)](Result<Outcome> outcome) mutable {
    {
      const RunCount ended = std::move(count);
    }
    done(std::move(outcome));
  };
}

// Starts the run in a fresh cell of the lane as soon as there is one.
void StartFresh(EngineLane& lane, Protocol protocol, RunRequest request, RunEvents& events,
                AfterRun after, Done<Outcome> done) {
  protocol->BeginStarting();
  CellNeeds needs{.processes = request.limits.processes,
                  .total_file_bytes = request.limits.total_file_bytes,
                  .files = request.limits.files,
                  .modules = request.modules,
                  .host_files = protocol->host_files(),
                  .prepared = protocol->TakePrepared()};
  if (lane.MakesOnDemand(needs)) {
    protocol->SetPreparation({.limits = request.limits, .modules = request.modules});
  }
  const OwnerId owner = protocol->owner();
  lane.WithFreshCell(
      owner, std::move(needs),
      [&lane, &events, protocol, request = std::move(request), after,
       done = std::move(done)](Result<CellLink*> link) mutable {
        if (!protocol->EndStarting()) {
          if (protocol->abandoned()) return;
          Outcome outcome;
          outcome.run_id = NewRunId();
          outcome.status = RunStatus::kCancelled;
          outcome.reason = RunReason::kKilled;
          asio::post(lane.context(),
                     [done = std::move(done), outcome = std::move(outcome)]() mutable {
                       done(std::move(outcome));
                     });
          return;
        }
        if (!link) return FailLater(lane, std::move(done), std::move(link).error());
        const std::uint64_t id = lane.state().next_cell.fetch_add(1, std::memory_order_relaxed);
        auto started =
            protocol->Start(**link, id, std::move(request), events, after, std::move(done));
        if (!started) FailLater(lane, std::move(done), std::move(started).error());
      });
}

}  // namespace

EngineCell::EngineCell(EngineLane& lane, OwnerId owner, Admission::Place place,
                       std::chrono::nanoseconds queued)
    : lane_(lane),
      protocol_(std::make_shared<CellProtocol>(std::move(owner), std::move(place), queued)) {}

EngineCell::~EngineCell() {
  if (lane_.is_current()) {
    protocol_->Abandon();
  } else {
    asio::post(lane_.context(), [protocol = std::move(protocol_)] { protocol->Abandon(); });
  }
}

void EngineCell::UseHostFiles(std::shared_ptr<HostFiles> files) {
  protocol_->UseHostFiles(std::move(files), lane_.executor());
}

void EngineCell::UsePrepared(std::shared_ptr<PreparedCell> prepared) {
  protocol_->UsePrepared(std::move(prepared));
}

asio::any_io_executor EngineCell::executor() const {
  return lane_.executor();
}

asio::awaitable<Result<Outcome>> EngineCell::Run(RunRequest request, RunEvents& events,
                                                 AfterRun after) {
  return OnLane<Outcome>(
      lane_, protocol_,
      [&lane = lane_, &events, request = std::move(request), after](Protocol protocol,
                                                                    Done<Outcome> done) mutable {
        if (auto good = CheckRequest(request, lane.state().ceiling); !good) {
          return FailLater(lane, std::move(done), std::move(good).error());
        }
        if (request.recording && !CanSaveRuns(lane.state())) {
          if (request.recording->must_repeat) {
            return FailLater(lane, std::move(done),
                             Error(ErrorCode::kFailedPrecondition,
                                   "this engine cannot repeat a run; nothing was executed"));
          }
          request.recording.reset();
        }
        if (!request.native_packages && HasPolicy(request)) {
          request.native_packages = lane.state().packages;
        }
        if (protocol->run_under_way() || protocol->starting()) {
          return FailLater(
              lane, std::move(done),
              Error(ErrorCode::kFailedPrecondition, "a run is under way in this cell"));
        }
        if (protocol->empty()) {
          return StartFresh(lane, std::move(protocol), std::move(request), events, after,
                            Counted(lane, std::move(done)));
        }
        Done<Outcome> counted = Counted(lane, std::move(done));
        auto again = protocol->Again(std::move(request), events, after, std::move(counted));
        if (!again) FailLater(lane, std::move(counted), std::move(again).error());
      });
}

asio::awaitable<Result<Outcome>> EngineCell::Continue(RunEvents& events, AfterRun after) {
  return OnLane<Outcome>(
      lane_, protocol_,
      [&lane = lane_, &events, after](const Protocol& protocol, Done<Outcome> done) mutable {
        Done<Outcome> counted = Counted(lane, std::move(done));
        if (auto ended = protocol->TakeEarlyEnd()) {
          asio::post(lane.context(), [&events, protocol, ended = *std::move(ended),
                                      counted = std::move(counted)]() mutable {
            events.OnOutput(OutputStream::kStdout, ended.stdout_text);
            events.OnOutput(OutputStream::kStderr, ended.stderr_text);
            protocol->Settle(std::move(ended), std::move(counted));
          });
          return;
        }
        auto good = protocol->Continue(events, after, std::move(counted));
        if (!good) FailLater(lane, std::move(counted), std::move(good).error());
      });
}

Result<void> EngineCell::AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) {
  return protocol_->Answer(seq, std::move(answer), now);
}

asio::awaitable<Result<SavedCell>> EngineCell::Save(AfterSave after) {
  return OnLane<SavedCell>(
      lane_, protocol_,
      [&lane = lane_, after](const Protocol& protocol, Done<SavedCell> done) mutable {
        if (lane.state().max_saved_bytes == 0 ||
            (protocol->run_under_way() && !CanSaveRuns(lane.state()))) {
          return FailLater(
              lane, std::move(done),
              Error(ErrorCode::kInvalidArgument,
                    "this engine cannot save a cell while it runs; run the code in engine wasm"));
        }
        auto good = protocol->Save(after, lane.state().max_saved_bytes, std::move(done));
        if (!good) FailLater(lane, std::move(done), std::move(good).error());
      });
}

void EngineCell::Cancel() {
  if (lane_.is_current()) return protocol_->Cancel();
  asio::post(lane_.context(), [protocol = protocol_] { protocol->Cancel(); });
}

}  // namespace caisson
