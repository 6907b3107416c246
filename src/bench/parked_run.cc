#include "bench/parked_run.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/spawn.h"

namespace caisson::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

struct ParkedRun::State final : RunEvents {
  State(const asio::any_io_executor& executor, std::unique_ptr<Cell> its_cell)
      : cell(std::move(its_cell)), changed(executor) {}

  void OnOutput(OutputStream /*stream*/, std::string_view /*bytes*/) override {}
  void OnCall(ToolCall call) override {
    seq = call.seq;
    changed.cancel();
  }

  static asio::awaitable<void> Run(std::shared_ptr<State> self, RunRequest request) {
    self->outcome = co_await self->cell->Run(std::move(request), *self, AfterRun::kDiscard);
    self->changed.cancel();
  }

  // Waits for a call or an outcome.
  asio::awaitable<void> AwaitChange() {
    changed.expires_after(kPatience);
    boost::system::error_code woken;
    co_await changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  std::unique_ptr<Cell> cell;
  asio::steady_timer changed;
  std::optional<std::uint32_t> seq;
  std::optional<Result<Outcome>> outcome;
};

asio::awaitable<Result<ParkedRun>> ParkedRun::Start(Engine& engine, OwnerId owner,
                                                    std::string code) {
  auto cell = co_await engine.Open({.owner = std::move(owner)});
  if (!cell) co_return std::move(cell).error();
  const auto executor = (*cell)->executor();
  auto state = std::make_shared<State>(executor, *std::move(cell));
  RunRequest request{.code = std::move(code), .tools = {"ask"}};
  Spawn(executor, State::Run(state, std::move(request)));
  ParkedRun run(state);
  if (!state->seq && !state->outcome) co_await state->AwaitChange();
  if (!state->seq) co_return Error(ErrorCode::kInternal, "a run ended instead of waiting");
  co_return std::move(run);
}

ParkedRun::~ParkedRun() {
  if (state_ != nullptr && !state_->outcome) state_->cell->Cancel();
}

Cell& ParkedRun::cell() {
  return *state_->cell;
}

std::uint32_t ParkedRun::seq() const {
  return *state_->seq;
}

Result<void> ParkedRun::Answer(Value answer) {
  return state_->cell->Answer(*state_->seq, std::move(answer));
}

asio::awaitable<Result<Outcome>> ParkedRun::End() {
  if (!state_->outcome) co_await state_->AwaitChange();
  if (!state_->outcome)
    co_return Error(ErrorCode::kDeadlineExceeded, "an answered run did not end");
  co_return *state_->outcome;
}

}  // namespace caisson::bench
