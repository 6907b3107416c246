#include "protocol/mcp/tool_changes.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <memory>

#include "base/spawn.h"
#include "base/wakeup.h"

namespace caisson::mcp {
namespace {

// The interval for checking upstreams that cannot report changes.
constexpr std::chrono::minutes kLookAgain{1};
constexpr int kMaxPlaces = 32;  // For one owner.

}  // namespace

std::shared_ptr<void> ToolChanges::TakePlace(const IsolationKey& owner) {
  auto places = places_.Lock();
  int& taken = (*places)[owner];
  if (taken >= kMaxPlaces) return nullptr;
  ++taken;
  return std::shared_ptr<void>(this, [this, owner](void*) {
    auto left = places_.Lock();
    if (--left->at(owner) == 0) left->erase(owner);
  });
}

asio::awaitable<void> ToolChanges::Tell(Caller caller, std::function<void()> on_change) {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer look_again(co_await asio::this_coro::executor);
  std::string shown = show_(caller);
  auto reason = Wakeup::Reason::kWoken;
  while (reason == Wakeup::Reason::kWoken) {
    const auto wakeup = std::make_shared<Wakeup>();  // Shared with the notifier's listener.
    const auto wake = [wakeup] { wakeup->Wake(); };
    // Start to listen, then look: a change in between is not missed.
    const auto changing = notifier_->Listen(wake);
    const auto closing = closing_.Listen(wake);
    if (std::string now = show_(caller); now != shown) {
      shown = std::move(now);
      on_change();
    }
    look_again.expires_after(kLookAgain);
    look_again.async_wait([wake](const boost::system::error_code&) { wake(); });
    if (closed_ || co_await IsCancelled()) co_return;
    reason = co_await wakeup->Sleep();
  }
}

void ToolChanges::Close() {
  closed_ = true;
  closing_.Notify();
}

}  // namespace caisson::mcp
