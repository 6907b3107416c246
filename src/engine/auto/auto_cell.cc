#include "engine/auto/auto_cell.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

namespace caisson {
namespace {

// Returns whether the code must run in engine native and may still be passed on.
bool MustMove(const Outcome& outcome) {
  return outcome.status == RunStatus::kRejected && !outcome.native_modules.empty() &&
         outcome.calls.empty() && outcome.stdout_text.empty() && outcome.stderr_text.empty() &&
         outcome.files.empty();
}

Outcome CancelledBetweenCells() {
  Outcome outcome;
  outcome.run_id = NewRunId();
  outcome.status = RunStatus::kCancelled;
  outcome.reason = RunReason::kKilled;
  return outcome;
}

}  // namespace

// Forwards events from the native cell's lane to the executor of the AutoCell, and answers back.
class AutoCell::Relay final : public RunEvents, public std::enable_shared_from_this<Relay> {
 public:
  Relay(asio::any_io_executor executor, RunEvents& events, std::weak_ptr<Cell> cell)
      : executor_(std::move(executor)), events_(&events), cell_(std::move(cell)) {}

  void OnOutput(OutputStream stream, std::string_view bytes) override {
    asio::post(executor_, [self = shared_from_this(), stream, text = std::string(bytes)] {
      if (self->events_ != nullptr) self->events_->OnOutput(stream, text);
    });
  }
  void OnCall(ToolCall call) override {
    asio::post(executor_, [self = shared_from_this(), call = std::move(call)]() mutable {
      if (self->events_ == nullptr) return;
      self->open_.push_back(call.seq);
      self->events_->OnCall(std::move(call));
    });
  }

  // The other functions are called on the AutoCell's executor.
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer, HostTime now) {
    const auto open = std::ranges::find(open_, seq);
    const auto cell = cell_.lock();
    if (open == open_.end() || cell == nullptr) {
      return Error(ErrorCode::kFailedPrecondition, "no call with this number is open");
    }
    open_.erase(open);
    const auto* value = std::get_if<Value>(&answer);
    const std::size_t bytes = value == nullptr ? 0 : DecodedBytes(*value);
    *posted_bytes_ += bytes;
    asio::post(cell->executor(), [weak = cell_, posted = posted_bytes_, bytes, seq,
                                  answer = std::move(answer), now]() mutable {
      *posted -= bytes;
      const auto there = weak.lock();
      if (there == nullptr) return;
      auto given = there->AnswerAt(seq, std::move(answer), now);
      // The caller has already been told that the answer was accepted, so the code gets the error.
      if (given) return;
      (void)there->Answer(seq, ToolRaised{.type = "ValueError", .message = given.error().message()})
          .has_value();
    });
    return {};
  }
  void End() { events_ = nullptr; }
  // The size of the answers on their way to the cell's lane.
  std::size_t posted_bytes() const { return *posted_bytes_; }

 private:
  const asio::any_io_executor executor_;
  RunEvents* events_;  // Null once the run has ended.
  const std::weak_ptr<Cell> cell_;
  std::vector<std::uint32_t> open_;
  // Shared with the answers on their way.
  const std::shared_ptr<std::atomic<std::size_t>> posted_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
};

AutoCell::AutoCell(AutoEngine& engine, OpenOptions options, std::unique_ptr<Cell> cell, State state)
    : engine_(engine),
      options_(std::move(options)),
      executor_(cell->executor()),
      state_(state),
      native_(state == State::kNative),
      active_(Active{.cell = std::move(cell)}) {}

AutoCell::~AutoCell() = default;

asio::awaitable<Result<Outcome>> AutoCell::Run(RunRequest request, RunEvents& events,
                                               AfterRun after) {
  if (!request.native_packages) request.native_packages = engine_.native_packages();
  if (native_) co_return co_await RunNative(std::move(request), events, after);
  const bool fresh = std::exchange(state_, State::kUsed) == State::kFresh;
  if (!fresh) co_return co_await cell()->Run(std::move(request), events, after);
  auto outcome = co_await cell()->Run(request, events, after);
  if (outcome && MustMove(*outcome)) {
    request.modules = std::move(outcome->native_modules);
    co_return co_await MoveAndRun(std::move(request), events, after);
  }
  options_.prepared = nullptr;  // It belongs to engine native and is not for this run.
  if (after == AfterRun::kDiscard) state_ = State::kFresh;
  co_return outcome;
}

asio::awaitable<Result<Outcome>> AutoCell::MoveAndRun(RunRequest request, RunEvents& events,
                                                      AfterRun after) {
  active_.Lock()->moving = true;
  OpenOptions options = options_;
  options_.prepared = nullptr;
  auto opened = co_await engine_.OpenNative(std::move(options), request.modules);
  if (!opened) {
    (void)FinishMove(cell());
    state_ = State::kFresh;  // Nothing was executed in it.
    co_return std::move(opened).error();
  }
  native_ = true;
  if (!FinishMove(*std::move(opened))) co_return CancelledBetweenCells();
  co_return co_await RunNative(std::move(request), events, after);
}

// Returns false if the cell was cancelled meanwhile.
bool AutoCell::FinishMove(std::shared_ptr<Cell> cell) {
  auto active = active_.Lock();
  active->cell.swap(cell);  // The old one is destroyed after the lock is released.
  active->moving = false;
  return !std::exchange(active->cancelled, false);
}

asio::awaitable<Result<Outcome>> AutoCell::RunNative(RunRequest request, RunEvents& events,
                                                     AfterRun after) {
  const std::shared_ptr<Cell> there = cell();
  relay_ = std::make_shared<Relay>(executor_, events, there);
  const auto relay = relay_;
  auto outcome = co_await there->Run(std::move(request), *relay, after);
  // Events posted before the end are delivered before it.
  co_await asio::post(asio::bind_executor(executor_, asio::use_awaitable));
  relay->End();
  co_return outcome;
}

// Engine wasm needs none. The needs of engine native are known after the first run.
std::optional<Preparation> AutoCell::preparation() const {
  return native_ ? cell()->preparation() : std::nullopt;
}

asio::awaitable<Result<Outcome>> AutoCell::Continue(RunEvents& events, AfterRun after) {
  return cell()->Continue(events, after);
}

Result<void> AutoCell::AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) {
  if (!native_) return cell()->AnswerAt(seq, std::move(answer), now);
  if (relay_) return relay_->Answer(seq, std::move(answer), now);
  return Error(ErrorCode::kFailedPrecondition, "no call with this number is open");
}

std::size_t AutoCell::unread_answer_bytes() const {
  const auto there = cell();
  const auto* unread = dynamic_cast<const UnreadAnswers*>(there.get());
  return (relay_ ? relay_->posted_bytes() : 0) +
         (unread != nullptr ? unread->unread_answer_bytes() : 0);
}

asio::awaitable<Result<SavedCell>> AutoCell::Save(AfterSave after) {
  return cell()->Save(after);
}

void AutoCell::Cancel() {
  auto active = active_.Lock();
  if (active->moving) active->cancelled = true;
  // Called under the lock, so that the cell is not destroyed meanwhile; it only posts.
  if (active->cell) active->cell->Cancel();
}

}  // namespace caisson
