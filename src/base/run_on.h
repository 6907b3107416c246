// RunOn and CallOn do work on another executor and return its result to a coroutine. Race and Both
// run two coroutines at the same time.
//
// Trust     Has none of its own.
// Threads   RunOn and CallOn: from any coroutine to any executor. RunOn's executor must run one
//           handler at a time (a lane, a strand). So must the executor of a coroutine that calls
//           Race or Both.
// Lifetime  They return when all of the work has ended. Everything that the work refers to must
//           live until then.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/spawn.h"

namespace caisson {

namespace internal {

// Completes `handler` on its own executor. The returned function keeps the executor's context
// alive.
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

// Runs `work` on the executor of `stop`. Cancelling the caller requests the stop.
inline asio::awaitable<void> RunUntilStopped(Stop stop, asio::awaitable<void> work) {
  const auto initiate = [](auto handler, Stop its_stop, asio::awaitable<void> what) {
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.assign([its_stop](asio::cancellation_type type) { its_stop.Request(type); });
    }
    Spawn(its_stop, std::move(what), ComeBack(std::move(handler)));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      initiate, asio::use_awaitable, std::move(stop), std::move(work));
}

// Stores the result of `work` in `result`.
template <typename T, typename Result>
asio::awaitable<void> Fill(Result& result, asio::awaitable<T> work) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(work);
  } else {
    result = co_await std::move(work);
  }
}

enum class StopOther { kOnEnd, kOnException };

// Runs two coroutines on one executor until both have ended.
template <typename Back>
class Pair : public std::enable_shared_from_this<Pair<Back>> {
 public:
  Pair(std::array<Stop, 2> stops, StopOther when, std::size_t& first, Back back)
      : stops_(std::move(stops)), when_(when), first_(first), back_(std::move(back)) {}

  void Start(std::size_t index, asio::awaitable<void> work) {
    Spawn(stops_[index], std::move(work),
          [self = this->shared_from_this(), index](std::exception_ptr thrown) {
            self->End(index, std::move(thrown));
          });
  }

 private:
  void End(std::size_t index, std::exception_ptr thrown) {
    if (--left_ == 0) {
      // In a race, an exception of the slower coroutine is ignored.
      if (when_ == StopOther::kOnException && !thrown_) thrown_ = std::move(thrown);
      return back_(std::move(thrown_));
    }
    first_ = index;
    if (thrown || when_ == StopOther::kOnEnd) stops_[1 - index].Request();
    thrown_ = std::move(thrown);
  }

  const std::array<Stop, 2> stops_;
  const StopOther when_;
  std::size_t& first_;
  Back back_;
  int left_ = 2;
  std::exception_ptr thrown_;
};

// Returns the index of the coroutine that ended first.
inline asio::awaitable<std::size_t> RunPair(asio::awaitable<void> zero, asio::awaitable<void> one,
                                            StopOther when) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::size_t first = 0;
  const auto initiate = [&](auto handler) {
    const std::array<Stop, 2> stops = {Stop(executor), Stop(executor)};
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.assign([stops](asio::cancellation_type type) {
        for (const Stop& stop : stops) stop.Request(type);
      });
    }
    auto back = ComeBack(std::move(handler));
    const auto pair = std::make_shared<Pair<decltype(back)>>(stops, when, first, std::move(back));
    pair->Start(0, std::move(zero));
    pair->Start(1, std::move(one));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      initiate, asio::use_awaitable);
  co_return first;
}

}  // namespace internal

// Runs `work` on the executor of `stop`. A request to `stop` cancels it, and so does cancelling the
// caller.
template <typename T>
asio::awaitable<T> RunOn(Stop stop, asio::awaitable<T> work) {
  if constexpr (std::is_void_v<T>) {
    co_await internal::RunUntilStopped(std::move(stop), std::move(work));
  } else {
    std::optional<T> result;
    co_await internal::RunUntilStopped(std::move(stop), internal::Fill(result, std::move(work)));
    co_return *std::move(result);
  }
}

// Cancelling the caller cancels the work.
template <typename T>
asio::awaitable<T> RunOn(asio::any_io_executor executor, asio::awaitable<T> work) {
  return RunOn(Stop(std::move(executor)), std::move(work));
}

// Calls a function that may block on another executor (for example, a thread pool). It cannot be
// cancelled.
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

// Runs both and cancels the slower one. Returns the result of `work`; nullopt if `other` ended
// first. Rethrows the exception of the one that ended first. Cancelling the caller cancels both.
template <typename T, typename U>
asio::awaitable<std::optional<T>> Race(asio::awaitable<T> work, asio::awaitable<U> other) {
  std::optional<T> result;
  std::optional<std::conditional_t<std::is_void_v<U>, int, U>> ignored;
  const std::size_t first = co_await internal::RunPair(internal::Fill(result, std::move(work)),
                                                       internal::Fill(ignored, std::move(other)),
                                                       internal::StopOther::kOnEnd);
  if (first != 0) result.reset();
  co_return result;
}
inline asio::awaitable<void> Race(asio::awaitable<void> work, asio::awaitable<void> other) {
  co_await internal::RunPair(std::move(work), std::move(other), internal::StopOther::kOnEnd);
}

// Runs both to their ends. If one throws, cancels the other and rethrows the first exception.
// Cancelling the caller cancels both.
inline asio::awaitable<void> Both(asio::awaitable<void> zero, asio::awaitable<void> one) {
  co_await internal::RunPair(std::move(zero), std::move(one), internal::StopOther::kOnException);
}

}  // namespace caisson
