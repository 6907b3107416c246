// A Wakeup lets one coroutine sleep until another one, on any thread, wakes it.
//
// Trust     Trusted callers only.
// Threads   Wake() from any thread, before or after Sleep(). One sleeper.
// Lifetime  Shared by sleeper and waker (shared_ptr), because either may end first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>

#include "base/guarded.h"

namespace caisson {

namespace asio = boost::asio;

class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  enum class Reason { kWoken, kCancelled };

  // Returns on the caller's executor; at once if Wake() has been called. kCancelled: the coroutine
  // was cancelled; Wake() may have been called as well by the time the caller looks.
  asio::awaitable<Reason> Sleep();
  void Wake() { End(Reason::kWoken); }

 private:
  using Resume = std::move_only_function<void(Reason)>;
  struct State {
    bool woken = false;
    Resume sleeper;
  };
  void End(Reason reason);

  Guarded<State> state_;
};

}  // namespace caisson
