// A Bell notifies its listeners that something may have changed, in general or at the place that
// they listen to. It does not say what changed: the listeners look for themselves.
//
//   Bell<> changed;                  auto listening = changed.Listen([wakeup] { wakeup->Wake(); });
//   Bell<Owner, RunId> decided;      auto listening = decided.Listen(owner, run, [...] { ... });
//
// Start to listen first, then look; a change between the two is not missed. Extra rings are
// harmless.
//
// Trust     Trusted callers only.
// Threads   Any. Listeners are called on the thread of Ring(), without a lock, and must not block.
// Lifetime  The bell outlives its Listenings. A listener may still be called once while its
//           Listening is being destroyed, so it must own or share everything that it uses.
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

  // The listener is called for as long as this object exists.
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
