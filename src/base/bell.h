// A Bell tells whoever listens that something may have changed. It does not say what: they look.
//
//   auto listening = bell.Listen([wakeup] { wakeup->Wake(); });      // begin to listen, then look
//   bell.Ring();
//
// Trust     Ours.
// Threads   Any. Listeners are called on the ringer's thread, without a lock, and must not block.
// Lifetime  The bell outlives its Listenings. A listener may still be called once while its Listening ends: it owns, or
//           shares, whatever it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/guarded.h"

namespace caisson {

class Bell {
 public:
  using Listener = std::function<void()>;

  // As long as this is there, the listener is called.
  class Listening {
   public:
    Listening(Listening&& other) noexcept
        : bell_(std::exchange(other.bell_, nullptr)), number_(other.number_) {}
    Listening& operator=(Listening&&) = delete;
    ~Listening() {
      if (bell_ != nullptr) bell_->state_.Lock()->listeners.erase(number_);
    }

   private:
    friend class Bell;
    Listening(Bell& bell, std::uint64_t number) : bell_(&bell), number_(number) {}
    Bell* bell_;
    std::uint64_t number_;
  };

  [[nodiscard]] Listening Listen(Listener listener) {
    auto state = state_.Lock();
    state->listeners.emplace(++state->last, std::move(listener));
    return Listening(*this, state->last);
  }

  void Ring() {
    const auto listeners = state_.Lock()->listeners;
    for (const auto& [number, listener] : listeners) listener();
  }

 private:
  struct State {
    std::uint64_t last = 0;
    std::map<std::uint64_t, Listener> listeners;
  };
  Guarded<State> state_;
};

}  // namespace caisson
