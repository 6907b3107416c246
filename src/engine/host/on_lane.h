// OnLane lets a coroutine on any executor await something that happens on a lane.
//
// Trust     Trusted code only.
// Threads   OnLane from any thread. Actions run on the lane; results arrive on the coroutine's
//           executor.
// Lifetime  The lane outlives everything here.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "engine/host/cell_protocol.h"
#include "engine/host/engine_lane.h"

namespace caisson {

template <typename T>
using Done = std::move_only_function<void(Result<T>)>;

// Calls `handler` on its own executor, directly if that is this lane's.
template <typename T, typename Handler>
Done<T> OnItsExecutor(EngineLane& lane, Handler handler) {
  return [&lane, handler = std::move(handler)](Result<T> result) mutable {
    auto executor = asio::get_associated_executor(handler, lane.executor());
    const auto* own = executor.template target<asio::io_context::executor_type>();
    auto call = [handler = std::move(handler), result = std::move(result)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(result));
    };
    if (own != nullptr && &own->context() == &lane.context() && lane.is_current()) return call();
    asio::dispatch(executor, std::move(call));
  };
}

// Calls `action` on the lane with a Done for the awaiting coroutine. Cancelling a coroutine that
// awaits an outcome ends the run.
template <typename T, typename Action>
asio::awaitable<Result<T>> OnLane(EngineLane& lane, std::shared_ptr<CellProtocol> protocol,
                                  Action action) {
  using Protocol = std::shared_ptr<CellProtocol>;
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Result<T>)>(
      [](auto handler, EngineLane* lane, Protocol protocol, Action action) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (std::is_same_v<T, Outcome> && slot.is_connected()) {
          slot.assign([lane, weak = std::weak_ptr(protocol)](asio::cancellation_type) {
            asio::dispatch(lane->context(), [weak] {
              if (auto protocol = weak.lock()) protocol->Cancel();
            });
          });
        }
        Done<T> done = OnItsExecutor<T>(*lane, std::move(handler));
        if (lane->is_current()) return action(std::move(protocol), std::move(done));
        asio::post(lane->context(), [protocol = std::move(protocol), action = std::move(action),
                                     done = std::move(done)]() mutable {
          action(std::move(protocol), std::move(done));
        });
      },
      asio::use_awaitable, &lane, std::move(protocol), std::move(action));
}

// An awaiting coroutine must not be resumed before it is suspended.
template <typename T>
void FailLater(EngineLane& lane, Done<T> done, Error error) {
  asio::post(lane.context(), [done = std::move(done), error = std::move(error)]() mutable {
    done(std::move(error));
  });
}

}  // namespace caisson
