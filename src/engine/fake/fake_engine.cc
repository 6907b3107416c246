#include "engine/fake/fake_engine.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/spawn.h"

namespace caisson {
namespace {

// Enough for a cancellation to pass through three executors.
constexpr int kTurnsOfOpen = 4;

}  // namespace

class FakeCell final : public Cell {
 public:
  enum class State { kNone, kKept };

  FakeCell(FakeEngine& engine, OwnerId owner, State state = State::kNone,
           std::optional<FakePlay> play = std::nullopt)
      : engine_(engine),
        owner_(std::move(owner)),
        play_(std::move(play)),
        signal_(engine.executor_),
        kept_(state == State::kKept) {
    ++engine_.stats_.cells_live;
    if (play_ && !std::exchange(play_->sleeps_until, std::nullopt)) open_seq_ = play_->next_seq - 1;
  }
  ~FakeCell() override { --engine_.stats_.cells_live; }

  asio::any_io_executor executor() const override { return engine_.executor_; }

  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                       AfterRun after) override {
    if (running_ || play_) co_return Error(ErrorCode::kFailedPrecondition, "a run is under way");
    engine_.requests_.emplace_back(owner_, std::move(request));
    if (engine_.scripts_.empty()) co_return Error(ErrorCode::kInternal, "no script");
    play_ = FakePlay{.script = std::move(engine_.scripts_.front())};
    engine_.scripts_.pop_front();
    co_return co_await Play(events, after);
  }

  asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) override {
    if (running_ || !play_) co_return Error(ErrorCode::kFailedPrecondition, "no run is waiting");
    co_return co_await Play(events, after);
  }

  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) override {
    if (open_seq_ != seq) return Error(ErrorCode::kFailedPrecondition, "no such call is open");
    open_seq_.reset();
    static constexpr const char* kOutcomes[] = {"returned", "raised", "denied"};
    if (!calls_.empty() && calls_.back().seq == seq)
      calls_.back().outcome = kOutcomes[answer.index()];
    engine_.answers_.emplace_back(seq, std::move(answer));
    engine_.answer_times_.push_back(now);
    signal_.cancel();
    return {};
  }

  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override {
    const auto wake_at = play_ ? play_->sleeps_until : std::nullopt;
    if (running_ && !open_seq_ && !wake_at)
      co_return Error(ErrorCode::kFailedPrecondition, "the cell is computing");
    const std::string name = "fake cell " + std::to_string(engine_.saved_.size()) + " of build " +
                             std::to_string(engine_.build_.build_id[0]);
    engine_.saved_.emplace(name, std::pair(owner_, play_));
    if (after == AfterSave::kDiscard) {
      saved_away_ = true;
      signal_.cancel();
    }
    co_return SavedCell{.bytes = name, .wake_at = wake_at};
  }

  void Cancel() override {
    asio::post(engine_.executor_, [this, alive = std::weak_ptr(alive_)] {
      if (alive.expired() || !running_) return;
      cancelled_ = true;
      signal_.cancel();
    });
  }

  bool holds_state() const override { return kept_; }

  std::optional<Preparation> preparation() const override {
    return engine_.worth_preparing_ ? std::optional<Preparation>(Preparation{}) : std::nullopt;
  }

 private:
  asio::awaitable<Result<Outcome>> Play(RunEvents& events, AfterRun after) {
    running_ = true;
    kept_ = false;
    cancelled_ = saved_away_ = false;
    ++engine_.stats_.runs_started;
    std::string out;
    std::string err;
    calls_.clear();
    co_await Answered();  // The call in which a restored run was saved.
    while (!Stopped() && play_->next_step < play_->script.steps.size()) {
      const auto& step = play_->script.steps[play_->next_step++];
      if (const auto* output = std::get_if<FakeOutput>(&step)) {
        (output->stream == OutputStream::kStdout ? out : err) += output->text;
        events.OnOutput(output->stream, output->text);
        continue;
      }
      if (const auto* sleep = std::get_if<FakeSleep>(&step)) {
        play_->sleeps_until = sleep->until;
        events.OnSleep(sleep->until);
        co_await Answered();
        continue;
      }
      const auto& call = std::get<FakeCall>(step);
      open_seq_ = play_->next_seq++;
      calls_.push_back({.seq = *open_seq_,
                        .tool = call.tool,
                        .arguments = WithPositional(call.keywords, call.positional),
                        .has_positional = !call.positional.items.empty(),
                        .outcome = "pending"});
      events.OnCall({.seq = *open_seq_,
                     .tool = call.tool,
                     .positional = call.positional,
                     .keywords = call.keywords});
      co_await Answered();
    }
    Outcome outcome = std::move(play_->script.outcome);
    if (cancelled_) {
      outcome = {.status = RunStatus::kCancelled, .reason = RunReason::kKilled};
    } else if (saved_away_) {
      outcome = {.status = RunStatus::kWaiting, .reason = RunReason::kApproval};
    }
    if (outcome.run_id.empty()) outcome.run_id = NewRunId();
    outcome.stdout_text = std::move(out);
    outcome.stderr_text = std::move(err);
    outcome.calls = std::move(calls_);
    outcome.boundary = {.engine = "fake", .tier = "none"};
    kept_ = after == AfterRun::kKeep && !Stopped() && !play_->script.loses_state;
    play_.reset();
    open_seq_.reset();
    running_ = false;
    ++engine_.stats_.runs_ended;
    co_return outcome;
  }

  bool Stopped() const { return cancelled_ || saved_away_; }

  asio::awaitable<void> Answered() {
    while ((open_seq_ || play_->sleeps_until) && !Stopped()) {
      signal_.expires_at(asio::steady_timer::time_point::max());
      co_await signal_.async_wait(asio::as_tuple(asio::use_awaitable));
      if (co_await IsCancelled()) cancelled_ = true;
    }
  }

  FakeEngine& engine_;
  const OwnerId owner_;
  std::optional<FakePlay> play_;
  std::optional<std::uint32_t> open_seq_;
  std::vector<OutcomeCall> calls_;
  asio::steady_timer signal_;  // Cancelled when the state changes.
  bool running_ = false;
  bool kept_ = false;
  bool cancelled_ = false;
  bool saved_away_ = false;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();  // For posts that outlive the cell.
};

class FakePreparedCell final : public PreparedCell {
 public:
  FakePreparedCell(std::shared_ptr<int> waiting, std::shared_ptr<void> witness)
      : witness_(std::move(witness)), waiting_(std::move(waiting)) {
    ++*waiting_;
  }
  ~FakePreparedCell() override { --*waiting_; }

 private:
  const std::shared_ptr<void> witness_;
  const std::shared_ptr<int> waiting_;
};

asio::awaitable<Result<std::shared_ptr<PreparedCell>>> FakeEngine::Prepare(
    Preparation preparation) {
  const std::shared_ptr<void> witness = std::move(preparation.witness);
  preparations_.push_back(std::move(preparation));
  if (asio::steady_timer* go = std::exchange(hold_prepare_, nullptr)) {
    go->expires_at(asio::steady_timer::time_point::max());
    co_await go->async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (prepare_error_) co_return *std::exchange(prepare_error_, std::nullopt);
  co_return std::shared_ptr<PreparedCell>(
      std::make_shared<FakePreparedCell>(waiting_cells_, witness));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> FakeEngine::Open(OpenOptions options) {
  if (on_open_) {
    std::exchange(on_open_, nullptr)();
    for (int i = 0; i < kTurnsOfOpen; ++i) co_await asio::post(executor_, asio::use_awaitable);
  }
  if (open_error_) co_return *std::exchange(open_error_, std::nullopt);
  if (options.prepared) opened_prepared_.push_back(options.owner);
  co_return std::unique_ptr<Cell>(std::make_unique<FakeCell>(*this, std::move(options.owner)));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> FakeEngine::Restore(OpenOptions options,
                                                                   SavedCell saved, Limits) {
  if (open_error_) co_return *std::exchange(open_error_, std::nullopt);
  if (!saved.bytes.ends_with(" of build " + std::to_string(build_.build_id[0]))) {
    co_return Error(ErrorCode::kFailedPrecondition, "saved by another build");
  }
  const auto found = saved_.find(saved.bytes);
  // A cell of another owner gives the same error as a missing one (I4).
  if (found == saved_.end() || found->second.first != options.owner) {
    co_return Error(ErrorCode::kInvalidArgument, "no such saved cell");
  }
  ++restored_;
  // A cell that was saved between two runs.
  const auto kept = found->second.second ? FakeCell::State::kNone : FakeCell::State::kKept;
  co_return std::unique_ptr<Cell>(
      std::make_unique<FakeCell>(*this, std::move(options.owner), kept, found->second.second));
}

}  // namespace caisson
