#include "server/single_turn.h"

#include <boost/asio/this_coro.hpp>

namespace caisson {

Result<TurnView> SingleTurn::Perform(TurnSpec spec, OnTurnEvent on_event) {
  Result<TurnView> result = Error(ErrorCode::kCancelled, "the turn was cancelled");
  Spawn(stop_, [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);  // The view says that it was cancelled.
    if (co_await IsCancelled()) co_return;
    result = co_await turns_.Start(owner_, std::move(spec), std::move(on_event));
  });
  caller_.run();
  return result;
}

}  // namespace caisson
