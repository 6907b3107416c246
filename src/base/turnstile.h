// A Turnstile lets a limited number of coroutines through at a time. The others wait in order of
// arrival.
//
//   auto pass = co_await turnstile.Enter();
//   if (!pass) co_return ...;               // Cancelled while it waited.
//   ...                                     // Destroying the pass lets the next coroutine in.
//
// Trust     Has none of its own.
// Threads   Any. Enter returns on the caller's executor.
// Lifetime  Passes may outlive the turnstile.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "base/guarded.h"
#include "base/wakeup.h"

namespace caisson {

class Turnstile {
 private:
  struct State {
    std::size_t free = 0;
    std::deque<std::shared_ptr<Wakeup>> waiting;
  };
  using Shared =
      // Shared by the turnstile, its passes and the waiting coroutines.
      std::shared_ptr<Guarded<State>>;
  class Ticket;

 public:
  class Pass {
   public:
    explicit Pass(Shared state) : state_(std::move(state)) {}
    Pass(Pass&&) = default;
    Pass& operator=(Pass&&) = delete;
    ~Pass() { Leave(); }
    void Leave();

   private:
    Shared state_;  // Null after Leave().
  };

  explicit Turnstile(std::size_t places);

  // Returns nullopt if the waiting coroutine was cancelled.
  asio::awaitable<std::optional<Pass>> Enter() const;

 private:
  static void PassOn(Guarded<State>& state);

  const Shared state_;
};

}  // namespace caisson
