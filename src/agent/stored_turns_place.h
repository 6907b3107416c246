// The place of a turn in its StoredTurns.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  The service outlives it.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/stored_turns.h"

namespace caisson {

// A turn that begins or is live.
class StoredTurns::Place {
 public:
  Place(Guarded<State>& state, Key key, std::optional<ConversationId> conversation)
      : state_(&state), key_(std::move(key)), conversation_(std::move(conversation)) {}
  Place(Place&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)),
        key_(std::move(other.key_)),
        conversation_(std::move(other.conversation_)) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (state_ == nullptr) return;
    std::vector<std::shared_ptr<Wakeup>> awaiting;
    {
      auto state = state_->Lock();
      state->live.erase(key_);
      state->ids.erase(key_);
      const auto count = state->counts.find(key_.first);
      if (--count->second == 0) state->counts.erase(count);
      if (conversation_) state->conversations.erase({key_.first, *conversation_});
      std::erase_if(state->watched, [&](auto& each) {
        if (each.first != key_) return false;
        awaiting.push_back(std::move(each.second));
        return true;
      });
    }
    for (const auto& each : awaiting) each->Wake();
  }

 private:
  Guarded<State>* state_;
  Key key_;
  std::optional<ConversationId> conversation_;
};

}  // namespace caisson
