// A Bell tells whoever listens that something may have changed: anything at all, or something of the place they listen
// at. It does not say what: they look.
//
//   Bell<> changed;                  auto listening = changed.Listen([wakeup] { wakeup->Wake(); });
//   Bell<Owner, RunId> decided;      auto listening = decided.Listen(owner, run, [...] { ... });
//
// Begin to listen, then look: what happens between the two is not missed. A ring too many is no harm.
//
// Trust     Ours.
// Threads   Any. Listeners are called on the ringer's thread, without a lock, and must not block.
// Lifetime  The bell outlives its Listenings. A listener may still be called once while its Listening ends: it owns, or
//           shares, whatever it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/guarded.h"

namespace caisson {

template <typename... Place>
class Bell {
  using Key = std::pair<std::tuple<Place...>, std::uint64_t>;

 public:
  using Listener = std::function<void()>;

  // As long as this is there, the listener is called.
  class Listening {
   public:
    Listening(Listening&& other) noexcept
        : bell_(std::exchange(other.bell_, nullptr)), key_(std::move(other.key_)) {}
    Listening& operator=(Listening&&) = delete;
    ~Listening() {
      if (bell_ != nullptr) bell_->state_.Lock()->listeners.erase(key_);
    }

   private:
    friend class Bell;
    Listening(Bell& bell, Key key) : bell_(&bell), key_(std::move(key)) {}
    Bell* bell_;
    Key key_;
  };

  [[nodiscard]] Listening Listen(Place... place, Listener listener) {
    auto state = state_.Lock();
    Key key(std::tuple<Place...>(std::move(place)...), state->next++);
    state->listeners.emplace(key, std::move(listener));
    return Listening(*this, std::move(key));
  }

  void Ring(const Place&... place) {
    const std::tuple<Place...> where(place...);
    std::vector<Listener> called;
    {
      auto state = state_.Lock();
      for (auto each = state->listeners.lower_bound({where, 0});
           each != state->listeners.end() && each->first.first == where; ++each) {
        called.push_back(each->second);
      }
    }
    for (const Listener& listener : called) listener();
  }

 private:
  struct State {
    std::uint64_t next = 0;
    std::map<Key, Listener> listeners;
  };
  Guarded<State> state_;
};

}  // namespace caisson
