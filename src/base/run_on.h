// RunOn and CallOn do work on another executor and come back with its result; WaitFor blocks meanwhile.
//
// Asio's own co_spawn does the same, but must not be used for this where the wait can be cancelled: it hands
// the work's executor a bare pointer to the signal, which is gone when the work ends at that very moment.
//
// Trust     None of its own.
// Threads   From any coroutine to any executor. RunOn's must run one thing at a time (a lane, a strand): what
//           cancels the work is emitted there.
// Lifetime  What the work refers to must stay until it has ended, which is when these return.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace caisson {

namespace asio = boost::asio;

// co_spawn wants results that can be made of nothing; a Result cannot.
template <typename T>
asio::awaitable<std::optional<T>> AsOptional(asio::awaitable<T> work) {
  co_return co_await std::move(work);
}

namespace internal {

// Used on the work's executor alone.
struct Work {
  asio::cancellation_signal stop;
  bool ended = false;
};

// Completes `handler` where it belongs. That place goes on running, and so exists, for as long as the result of
// this and whatever copies Asio makes of its executor on the way.
template <typename Handler>
auto ComeBack(Handler handler) {
  auto home = asio::prefer(asio::get_associated_executor(handler),
                           asio::execution::outstanding_work.tracked);
  return [home = std::move(home), handler = std::move(handler)](std::exception_ptr thrown) mutable {
    asio::dispatch(home, [handler = std::move(handler), thrown = std::move(thrown)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(thrown));
    });
  };
}

inline asio::awaitable<void> Spawn(asio::any_io_executor executor, asio::awaitable<void> work) {
  const auto initiate = [](auto handler, const asio::any_io_executor& where,
                           asio::awaitable<void> what) {
    const auto shared = std::make_shared<Work>();
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.assign([shared, where](asio::cancellation_type type) {
        asio::post(where, [shared, type] {
          if (!shared->ended) shared->stop.emit(type);
        });
      });
    }
    auto end = [shared, back = ComeBack(std::move(handler))](std::exception_ptr thrown) mutable {
      shared->ended = true;
      back(std::move(thrown));
    };
    asio::co_spawn(where, std::move(what),
                   asio::bind_cancellation_slot(shared->stop.slot(), std::move(end)));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      initiate, asio::use_awaitable, std::move(executor), std::move(work));
}

}  // namespace internal

// Cancelling the wait cancels the work; this returns when that has ended.
template <typename T>
asio::awaitable<T> RunOn(asio::any_io_executor executor, asio::awaitable<T> work) {
  if constexpr (std::is_void_v<T>) {
    co_await internal::Spawn(std::move(executor), std::move(work));
  } else {
    std::optional<T> result;
    const auto fill = [&]() -> asio::awaitable<void> { result = co_await std::move(work); };
    co_await internal::Spawn(std::move(executor), fill());
    co_return *std::move(result);
  }
}

// For what blocks: calls `function` there (a pool's thread, say). Nothing cancels it.
template <typename Function>
asio::awaitable<std::invoke_result_t<Function>> CallOn(asio::any_io_executor executor,
                                                       Function function) {
  std::optional<std::invoke_result_t<Function>> result;
  const auto initiate = [&](auto handler) {
    asio::post(executor,
               [&result, &function, back = internal::ComeBack(std::move(handler))] mutable {
                 std::exception_ptr thrown;
                 try {
                   result = function();
                 } catch (...) {
                   thrown = std::current_exception();
                 }
                 back(std::move(thrown));
               });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      initiate, asio::use_awaitable);
  co_return *std::move(result);
}

// Blocks this thread, which must be none of the executor's, until the work is done there.
template <typename T>
T WaitFor(const asio::any_io_executor& executor, asio::awaitable<T> work) {
  if constexpr (std::is_void_v<T>) {
    asio::co_spawn(executor, std::move(work), asio::use_future).get();
  } else {
    return *asio::co_spawn(executor, AsOptional(std::move(work)), asio::use_future).get();
  }
}

}  // namespace caisson
