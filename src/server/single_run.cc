#include "server/single_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>
#include <utility>

namespace caisson {

// Takes what happens on the lane to the thread that called Perform().
class SingleRun::Events final : public RunEvents {
 public:
  Events(asio::io_context& caller, SingleRun::OnOutput on_output)
      : caller_(caller), on_output_(std::move(on_output)) {}

  // The queue this makes is bounded by the run's own output limits.
  void OnOutput(OutputStream stream, std::string_view bytes) override {
    asio::post(caller_, [this, stream, text = std::string(bytes)] { on_output_(stream, text); });
  }

  void OnCall(ToolCall call) override {
    // It answers a call that has just been made, so that it can only be refused once the run ended.
    static_cast<void>(cell->Answer(
        call.seq, ToolRaised{.type = "LookupError", .message = "no tools are configured"}));
  }

  Cell* cell = nullptr;

 private:
  asio::io_context& caller_;
  const SingleRun::OnOutput on_output_;
};

namespace {

Outcome CancelledBeforeStart() {
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kCancelled;
  outcome.reason = RunReason::kKilled;
  return outcome;
}

}  // namespace

bool SingleRun::Register(Cell* cell) {
  auto state = state_.Lock();
  state->cell = cell;
  return !state->cancelled;
}

void SingleRun::Cancel() {
  auto state = state_.Lock();
  state->cancelled = true;
  // Under the lock, so that the cell cannot go meanwhile. Cell::Cancel only posts.
  if (state->cell != nullptr) state->cell->Cancel();
}

asio::awaitable<void> SingleRun::RunInCell(std::unique_ptr<Cell> cell, RunRequest request,
                                           Events& events) {
  events.cell = cell.get();
  if (Register(cell.get())) {
    outcome_ = co_await cell->Run(std::move(request), events, AfterRun::kDiscard);
  } else {
    outcome_ = CancelledBeforeStart();
  }
  Register(nullptr);
}

asio::awaitable<void> SingleRun::OpenAndRun(RunRequest request, Events& events) {
  auto cell = co_await engine_.Open({.owner = OwnerId("local")});
  if (!cell) {
    outcome_ = std::move(cell).error();
    co_return;
  }
  // The cell lives and dies on its own executor.
  const asio::any_io_executor executor = (*cell)->executor();
  co_await asio::co_spawn(executor, RunInCell(*std::move(cell), std::move(request), events),
                          asio::use_awaitable);
}

Result<Outcome> SingleRun::Perform(RunRequest request, OnOutput on_output) {
  asio::io_context caller(1);
  Events events(caller, std::move(on_output));
  asio::co_spawn(caller, OpenAndRun(std::move(request), events), [](std::exception_ptr thrown) {
    if (thrown) std::terminate();  // Nothing of ours throws.
  });
  caller.run();
  return *std::move(outcome_);
}

Outcome RefusedForLength(const Limits& limits, Boundary boundary) {
  const std::string allowed = std::to_string(limits.code_bytes);
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kRejected;
  outcome.reason = RunReason::kPolicy;
  outcome.findings.push_back({.rule = "code_bytes",
                              .message = "the code is longer than " + allowed + " bytes",
                              .line = 0,
                              .column = 0,
                              .hint = "shorten it, or raise the limit code_bytes"});
  outcome.boundary = std::move(boundary);
  return outcome;
}

}  // namespace caisson
