#include "protocol/agui/thread_run.h"

#include <algorithm>

namespace caisson::agui {

void ThreadRun::Begin(Thread thread, ResponseId turn, std::vector<std::string> catch_up) {
  {
    auto state = state_.Lock();
    state->thread = std::move(thread);
    state->turn = std::move(turn);
    state->catch_up = std::move(catch_up);
  }
  Wake();
}

void ThreadRun::Push(std::string event, Weight weight) {
  {
    auto state = state_.Lock();
    const bool is_full = state->bytes + event.size() > kMaxKeptBytes;
    if (state->ended || (is_full && weight == Weight::kPiece)) return;
    state->bytes += event.size();
    state->events.push_back(std::move(event));
  }
  Wake();
}

void ThreadRun::End() {
  state_.Lock()->ended = true;
  Wake();
}

void ThreadRun::Wake() {
  const auto sleepers = std::exchange(state_.Lock()->sleepers, {});
  for (const auto& sleeper : sleepers) sleeper->Wake();
}

// Returns false if the coroutine was cancelled.
template <typename Ready>
asio::awaitable<bool> ThreadRun::Until(Ready ready) {
  while (true) {
    const auto sleeper = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      if (ready(*state)) co_return true;
      state->sleepers.push_back(sleeper);
    }
    if (co_await sleeper->Sleep() == Wakeup::Reason::kCancelled) co_return false;
  }
}

asio::awaitable<bool> ThreadRun::AwaitBegin() {
  co_await Until([](const State& state) { return state.thread || state.ended; });
  co_return state_.Lock()->thread.has_value();
}

asio::awaitable<void> ThreadRun::AwaitEnd() {
  co_await Until([](const State& state) { return state.ended; });
}

ThreadRun::Facts ThreadRun::facts() const {
  auto state = state_.Lock();
  return {.thread = *state->thread, .turn = *state->turn, .has_followers = state->followers > 0};
}

ThreadRun::Follower::Follower(std::shared_ptr<ThreadRun> run, Place place)
    : run_(std::move(run)), place_(place) {
  ++run_->state_.Lock()->followers;
}

ThreadRun::Follower::~Follower() {
  if (run_) --run_->state_.Lock()->followers;
}

asio::awaitable<void> ThreadRun::Follower::Follow(net::EventStream stream) {
  for (std::size_t next = 0;;) {
    std::vector<std::string> batch;
    bool ended = false;
    {
      auto state = run_->state_.Lock();
      const bool late = place_ == Place::kLater && next == 0 && !state->events.empty();
      for (; next < state->events.size() && batch.size() < 64; ++next) {
        batch.push_back(state->events[next]);
        if (late && next == 0) {
          batch.insert(batch.end(), state->catch_up.begin(), state->catch_up.end());
        }
      }
      ended = state->ended && next == state->events.size();
    }
    for (std::string& event : batch) {
      const auto sent = co_await stream.Send({.data = std::move(event)});
      if (!sent) co_return;
    }
    if (ended) co_return;
    const bool goes_on = co_await run_->Until(
        [next](const State& state) { return state.ended || state.events.size() > next; });
    if (!goes_on) co_return;
  }
}

}  // namespace caisson::agui
