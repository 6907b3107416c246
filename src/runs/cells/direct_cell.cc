#include "runs/cells/direct_cell.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "base/spawn.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

class DirectCell final : public Cell {
 public:
  DirectCell(asio::any_io_executor executor, DirectCall call, std::optional<Limits> restored)
      : state_(std::make_shared<State>(executor)),
        call_(std::move(call)),
        limits_(restored.value_or(Limits{})),
        waits_(restored.has_value()) {}

  asio::any_io_executor executor() const override { return state_->signal.get_executor(); }

  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events, AfterRun) override {
    limits_ = request.limits;
    limits_.wall_time += request.spare_wall_time;
    waits_ = true;
    co_return co_await AwaitAnswer(
        [&] { events.OnCall({.seq = 0, .tool = call_.tool, .keywords = call_.arguments}); });
  }

  asio::awaitable<Result<Outcome>> Continue(RunEvents&, AfterRun) override {
    if (!waits_) co_return Error(ErrorCode::kFailedPrecondition, "no call is waiting");
    co_return co_await AwaitAnswer([] {});
  }

  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime) override {
    if (!waits_ || seq != 0) {
      return Error(ErrorCode::kFailedPrecondition, "no such call is open");
    }
    waits_ = false;
    answer_ = std::move(answer);
    state_->signal.cancel();
    return {};
  }

  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override {
    if (!waits_) co_return Error(ErrorCode::kFailedPrecondition, "the call has its answer");
    if (after == AfterSave::kDiscard) End(Ending::kSaved);
    co_return SavedCell{.bytes = "call"};
  }

  void Cancel() override {
    asio::post(executor(), [weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (!state) return;
      state->ending = Ending::kCancelled;
      state->signal.cancel();
    });
  }

  bool holds_state() const override { return false; }

 private:
  enum class Ending { kNone, kSaved, kCancelled };
  // Shared with requests to cancel, which may come after the end of the cell.
  struct State {
    explicit State(const asio::any_io_executor& executor) : signal(executor) {}
    asio::steady_timer signal;  // Cancelled when the state changes.
    Ending ending = Ending::kNone;
  };

  void End(Ending how) {
    state_->ending = how;
    state_->signal.cancel();
  }

  template <typename Begin>
  asio::awaitable<Result<Outcome>> AwaitAnswer(Begin begin) {
    const auto start = Clock::now();
    begin();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(limits_.wall_time);
    while (waits_ && state_->ending == Ending::kNone && Clock::now() < end) {
      state_->signal.expires_at(end);
      co_await state_->signal.async_wait(asio::as_tuple(asio::use_awaitable));
      if (co_await IsCancelled()) state_->ending = Ending::kCancelled;
    }
    const auto took = Clock::now() - start;
    Outcome outcome = Ended();
    outcome.run_id = NewRunId();
    outcome.boundary = {.engine = "direct"};
    outcome.usage.wall = took;
    outcome.calls.push_back({.tool = call_.tool,
                             .arguments = call_.arguments,
                             .outcome = waits_ ? "pending" : Word(),
                             .duration = took});
    co_return outcome;
  }

  std::string Word() const {
    static constexpr const char* kWords[] = {"returned", "raised", "denied"};
    return kWords[answer_.index()];
  }

  Outcome Ended() {
    if (!waits_) return Answered();
    if (state_->ending == Ending::kCancelled) {
      return {.status = RunStatus::kCancelled, .reason = RunReason::kKilled};
    }
    if (state_->ending == Ending::kSaved) {
      return {.status = RunStatus::kWaiting, .reason = RunReason::kApproval};
    }
    return {.status = RunStatus::kLimit, .reason = RunReason::kWallTime};
  }

  Outcome Answered() {
    Outcome outcome{.status = RunStatus::kFailed, .reason = RunReason::kRaised};
    if (auto* raised = std::get_if<ToolRaised>(&answer_)) {
      outcome.error = RunError{.type = raised->type, .message = raised->message};
      return outcome;
    }
    if (auto* denied = std::get_if<ToolDenied>(&answer_)) {
      outcome.error = RunError{.type = "ApprovalDenied", .message = denied->message};
      return outcome;
    }
    Value& value = std::get<Value>(answer_);
    outcome.status = RunStatus::kCompleted;
    outcome.reason = RunReason::kReturned;
    if (value.is_none()) return outcome;
    const auto json = ToJson(value);
    const std::size_t bytes = json ? json->size() : DecodedBytes(value);
    if (bytes > limits_.result_bytes) {
      outcome.status = RunStatus::kLimit;
      outcome.reason = RunReason::kResult;
    } else if (json) {
      outcome.result = std::move(value);
    } else {
      outcome.result_repr = TextOf(value);
    }
    return outcome;
  }

  // For values that JSON cannot hold.
  static std::string TextOf(const Value& value) {
    if (const auto* bytes = value.If<Bytes>()) {
      return "(" + std::to_string(bytes->data.size()) + " bytes)";
    }
    return "(a value that JSON cannot hold)";
  }

  const std::shared_ptr<State> state_;
  const DirectCall call_;
  Limits limits_;
  bool waits_ = false;  // The call is open.
  ToolAnswer answer_{};
};

}  // namespace

std::unique_ptr<Cell> MakeDirectCell(asio::any_io_executor executor, DirectCall call) {
  return std::make_unique<DirectCell>(std::move(executor), std::move(call), std::nullopt);
}

std::unique_ptr<Cell> RestoreDirectCell(asio::any_io_executor executor, DirectCall call,
                                        Limits limits) {
  return std::make_unique<DirectCell>(std::move(executor), std::move(call), limits);
}

}  // namespace caisson
