// A DecisionBell tells whoever waits in this process that something about a run was decided.
//
// It says that, not what: who is woken looks at the store. So a ring too many is no harm, and decisions made by other
// processes are found by looking now and then.
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
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

class DecisionBell {
 public:
  using Listener = std::function<void()>;

  // As long as this is there, the listener is called.
  class Listening {
   public:
    Listening(Listening&& other) noexcept
        : bell_(std::exchange(other.bell_, nullptr)), number_(other.number_) {}
    Listening& operator=(Listening&&) = delete;
    ~Listening() {
      if (bell_ != nullptr) bell_->Forget(number_);
    }

   private:
    friend class DecisionBell;
    Listening(DecisionBell& bell, std::uint64_t number) : bell_(&bell), number_(number) {}
    DecisionBell* bell_;
    std::uint64_t number_;
  };

  // Begin to listen, then look: a decision between the two is not missed.
  [[nodiscard]] Listening Listen(IsolationKey owner, RunId run, Listener listener);
  void Ring(const IsolationKey& owner, const RunId& run);

 private:
  using Place = std::pair<IsolationKey, RunId>;
  struct State {
    std::uint64_t next = 0;
    std::map<std::uint64_t, Place> places;
    std::map<std::pair<Place, std::uint64_t>, Listener> listeners;
  };
  void Forget(std::uint64_t number);

  Guarded<State> state_;
};

}  // namespace caisson
