// StorePatience repeats a failed store operation until it succeeds. A full disk or a lost database
// delays work but does not end it.
//
//   auto begun = co_await patience.Insist<void>([&](Try which) {
//     return runs.BeginCall(owner, id, For(lease, which), call, now);
//   });
//
// A failed operation may still have happened, if the connection was lost during a commit. So a
// repeated operation is marked as one (Lease::repeats) and has the same arguments.
//
// Trust     Trusted callers only.
// Threads   Any executor.
// Lifetime  Outlives the operations. StoreHealth outlives it.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "store/health.h"
#include "store/runs.h"

namespace caisson {

namespace asio = boost::asio;

enum class Try { kFirst, kAgain };
inline Lease For(Lease lease, Try which) {
  lease.repeats = which == Try::kAgain;
  return lease;
}

class StorePatience {
 public:
  template <typename T>
  using Operation = std::function<asio::awaitable<Result<T>>(Try which)>;

  // The first pause, doubled each time up to the longest.
  struct Pace {
    std::chrono::milliseconds first{100};
    std::chrono::milliseconds longest{5000};
  };
  StorePatience(StoreHealth& health, Pace pace) : health_(health), pace_(pace) {}

  // Runs `operation` and repeats it while it ends with a store failure. Returns that failure if
  // Close() was called or, after a pause or a cancellation, `wanted` returns false.
  template <typename T>
  asio::awaitable<Result<T>> Insist(Operation<T> operation, std::function<bool()> wanted = {}) {
    auto result = co_await operation(Try::kFirst);
    if (result || !IsStoreFailure(result.error())) co_return result;
    co_return co_await Repeat<T>(std::move(operation), std::move(result).error(),
                                 std::move(wanted));
  }
  // The same for an operation that has already failed with `failure`.
  template <typename T>
  asio::awaitable<Result<T>> Repeat(Operation<T> operation, Error failure,
                                    std::function<bool()> wanted = {}) {
    const StoreHealth::Waiting waiting(health_);
    for (auto pause = pace_.first;; pause = std::min(pause * 2, pace_.longest)) {
      co_await Sleep(pause);
      if (is_closed() || (wanted && !wanted())) co_return failure;
      auto result = co_await operation(Try::kAgain);
      if (result || !IsStoreFailure(result.error())) co_return result;
      failure = std::move(result).error();
    }
  }

  // Returns after `pause`, or early if cancelled or closed.
  asio::awaitable<void> Sleep(std::chrono::milliseconds pause) {
    const auto woken = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      if (state->closed) co_return;
      std::erase_if(state->sleepers, [](const auto& each) { return each.expired(); });
      state->sleepers.push_back(woken);
    }
    asio::steady_timer timer(co_await asio::this_coro::executor, pause);
    timer.async_wait([woken](boost::system::error_code) { woken->Wake(); });
    co_await woken->Sleep();
  }

  // Stops all repetitions.
  void Close() {
    std::vector<std::weak_ptr<Wakeup>> sleepers;
    {
      auto state = state_.Lock();
      state->closed = true;
      sleepers = std::exchange(state->sleepers, {});
    }
    for (const auto& each : sleepers) {
      if (const auto sleeper = each.lock()) sleeper->Wake();
    }
  }
  bool is_closed() { return state_.Lock()->closed; }
  const Pace& pace() const { return pace_; }
  StoreHealth& health() { return health_; }

 private:
  struct State {
    bool closed = false;
    std::vector<std::weak_ptr<Wakeup>> sleepers;
  };
  StoreHealth& health_;
  const Pace pace_;
  Guarded<State> state_;
};

}  // namespace caisson
