// A Notifier tells its subscribers that something may have changed, at any place or at the place
// that they subscribed to. It does not say what changed; subscribers look.
//
//   Notifier<> changed;
//   auto subscription = changed.Listen([wakeup] { wakeup->Wake(); });
//   Notifier<Owner, RunId> decided;
//   auto subscription = decided.Listen(owner, run, [...] { ... });
//
// Subscribe first, then look: a change between the two is not missed. A spurious notification is
// harmless.
//
// Trust     Trusted callers only.
// Threads   Any. Listeners are called on the notifying thread, without a lock, and must not block.
// Lifetime  The notifier outlives its subscriptions. A listener may still be called once while its
//           subscription ends: it must own, or share, what it touches.
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
class Notifier {
  using Key = std::pair<std::tuple<Place...>, std::uint64_t>;

 public:
  using Listener = std::function<void()>;

  // The listener is called as long as its subscription exists.
  class Subscription {
   public:
    Subscription(Subscription&& other) noexcept
        : notifier_(std::exchange(other.notifier_, nullptr)), key_(std::move(other.key_)) {}
    Subscription& operator=(Subscription&&) = delete;
    ~Subscription() {
      if (notifier_ != nullptr) notifier_->state_.Lock()->listeners.erase(key_);
    }

   private:
    friend class Notifier;
    Subscription(Notifier& notifier, Key key) : notifier_(&notifier), key_(std::move(key)) {}
    Notifier* notifier_;
    Key key_;
  };

  [[nodiscard]] Subscription Listen(Place... place, Listener listener) {
    auto state = state_.Lock();
    Key key(std::tuple<Place...>(std::move(place)...), state->next++);
    state->listeners.emplace(key, std::move(listener));
    return Subscription(*this, std::move(key));
  }

  void Notify(const Place&... place) {
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
