#include "runs/cells/gate.h"

namespace caisson {

std::optional<Gate::Pass> Gate::Enter() {
  auto state = state_.Lock();
  if (state->shut) return std::nullopt;
  ++state->inside;
  return Pass(*this);
}

void Gate::Leave() {
  std::vector<std::shared_ptr<Wakeup>> waiting;
  {
    auto state = state_.Lock();
    if (--state->inside > 0) return;
    waiting = std::exchange(state->waiting, {});
  }
  for (const auto& waiter : waiting) waiter->Wake();
}

asio::awaitable<void> Gate::Close() {
  const auto wakeup = std::make_shared<Wakeup>();
  {
    auto state = state_.Lock();
    state->shut = true;
    if (state->inside == 0) co_return;
    state->waiting.push_back(wakeup);
  }
  // Leaving early would let our owner go while there is work inside it: cancelling does not help.
  while (co_await wakeup->Sleep() != Wakeup::Reason::kWoken) {
  }
}

}  // namespace caisson
