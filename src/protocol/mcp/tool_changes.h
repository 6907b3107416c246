// ToolChanges tells clients that what tools/list shows them is not any more what it was.
//
//   co_await changes.Tell(caller, [&] { Send("notifications/tools/list_changed"); });
//
// Trust     A caller hears of changes to what that caller is shown, and of nobody else's.
// Threads   Any; a caller is told on the executor of the coroutine that waits.
// Lifetime  The notifier outlives it; it outlives those who wait. Close() ends their waiting.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/notifier.h"
#include "base/guarded.h"
#include "protocol/mcp/caller.h"

namespace caisson::mcp {

namespace asio = boost::asio;

inline constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";

class ToolChanges {
 public:
  // All that tools/list says to a caller, in whatever form.
  using Show = std::function<std::string(const Caller& caller)>;

  // `notifier` notifies when the list may have changed; null: it never changes.
  ToolChanges(Notifier<>* notifier, Show show) : notifier_(notifier), show_(std::move(show)) {}

  bool can_happen() const { return notifier_ != nullptr; }

  // A place for one who listens over a connection of the server's, which has only so many; null: this owner has enough of
  // them. Free again when it goes, before this does.
  std::shared_ptr<void> TakePlace(const IsolationKey& owner);

  // Returns when cancelled, or after Close(). Precondition: they can happen.
  asio::awaitable<void> Tell(Caller caller, std::function<void()> on_change);
  void Close();

 private:
  Notifier<>* const notifier_;
  const Show show_;
  Guarded<std::map<IsolationKey, int>> places_;
  std::atomic<bool> closed_ = false;
  Notifier<> closing_;
};

}  // namespace caisson::mcp
