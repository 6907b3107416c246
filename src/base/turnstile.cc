#include "base/turnstile.h"

#include <algorithm>
#include <utility>

#include "base/spawn.h"

namespace caisson {

// A place in the queue. If the waiting coroutine ends for any reason, the destructor removes it
// from the queue and frees its place.
class Turnstile::Ticket {
 public:
  explicit Ticket(Shared state) : state_(std::move(state)) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (used_) return;
    {
      auto state = state_->Lock();
      if (std::erase(state->waiting, wakeup_) > 0) return;
    }
    PassOn(*state_);  // Its turn had already come.
  }

  // Returns false if the coroutine has to wait.
  bool TryEnter() {
    auto state = state_->Lock();
    used_ = state->free > 0;
    if (used_) {
      --state->free;
    } else {
      state->waiting.push_back(wakeup_);
    }
    return used_;
  }
  Wakeup& wakeup() { return *wakeup_; }
  void Use() { used_ = true; }

 private:
  const Shared state_;
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  bool used_ = false;
};

Turnstile::Turnstile(std::size_t places) : state_(std::make_shared<Guarded<State>>()) {
  state_->Lock()->free = places;
}

asio::awaitable<std::optional<Turnstile::Pass>> Turnstile::Enter() const {
  const Shared state = state_;
  Ticket ticket(state);
  if (!ticket.TryEnter()) {
    if (co_await IsCancelled() || co_await ticket.wakeup().Sleep() == Wakeup::Reason::kCancelled) {
      co_return std::nullopt;
    }
    ticket.Use();
  }
  co_return Pass(state);
}

// The woken coroutine owns the free place; a newcomer cannot take it in between.
void Turnstile::PassOn(Guarded<State>& shared) {
  std::shared_ptr<Wakeup> next;
  {
    auto state = shared.Lock();
    if (state->waiting.empty()) {
      ++state->free;
      return;
    }
    next = std::move(state->waiting.front());
    state->waiting.pop_front();
  }
  next->Wake();
}

void Turnstile::Pass::Leave() {
  if (const Shared state = std::exchange(state_, nullptr)) PassOn(*state);
}

}  // namespace caisson
