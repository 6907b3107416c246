// ToolChanges notifies clients when the result of their tools/list has changed.
//
//   co_await changes.Tell(caller, [&] { Send("notifications/tools/list_changed"); });
//
// Trust     A caller is told only of changes to its own list.
// Threads   Any; a caller is notified on the executor of the waiting coroutine.
// Lifetime  The notifier outlives it; it outlives the waiting coroutines. Close() ends them.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/guarded.h"
#include "base/notifier.h"
#include "protocol/mcp/mcp_caller.h"

namespace caisson::mcp {

namespace asio = boost::asio;

inline constexpr std::string_view kToolsChanged = "notifications/tools/list_changed";

class ToolChanges {
 public:
  // Returns the contents of tools/list for a caller, in any form.
  using Show = std::function<std::string(const Caller& caller)>;

  // `notifier` notifies when the list may have changed; null: it never changes.
  ToolChanges(Notifier<>* notifier, Show show) : notifier_(notifier), show_(std::move(show)) {}

  bool can_happen() const { return notifier_ != nullptr; }

  // Reserves one of the limited places for listeners over the server's connections; null if this
  // owner has too many. Destroy the result, before this object, to free the place.
  std::shared_ptr<void> TakePlace(const IsolationKey& owner);

  // Returns when cancelled, or after Close(). Precondition: changes can happen.
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
