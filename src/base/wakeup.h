// A Wakeup lets one coroutine sleep until another, on whatever thread, wakes it.
//
// Trust     Ours.
// Threads   Wake() from any thread, before or after the sleeper sleeps. One sleeper.
// Lifetime  Shared by the two (shared_ptr): whoever comes second still finds it.
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

  // Returns on the caller's executor, at once if Wake() has been called. kCancelled: the coroutine was
  // cancelled, and Wake() may have been called all the same by the time anybody looks.
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
