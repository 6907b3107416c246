#include "runs/cells/shutdown_gate.h"

namespace caisson {

std::optional<ShutdownGate::Pass> ShutdownGate::Enter() {
  auto state = state_.Lock();
  if (state->shut) return std::nullopt;
  ++state->inside;
  return Pass(*this);
}

void ShutdownGate::Leave() {
  std::vector<std::shared_ptr<Wakeup>> waiting;
  {
    auto state = state_.Lock();
    if (--state->inside > 0) return;
    waiting = std::exchange(state->waiting, {});
  }
  for (const auto& waiter : waiting) waiter->Wake();
}

asio::awaitable<void> ShutdownGate::Close() {
  const auto wakeup = std::make_shared<Wakeup>();
  {
    auto state = state_.Lock();
    state->shut = true;
    if (state->inside == 0) co_return;
    state->waiting.push_back(wakeup);
  }
  // Returning early would let the owner be destroyed while work is inside: cancellation is ignored.
  while (co_await wakeup->Sleep() != Wakeup::Reason::kWoken) {
  }
}

}  // namespace caisson
