// RunOn does work on another executor and comes back with its result. Cancelling the wait cancels the work.
//
// Trust     None of its own.
// Threads   From any coroutine to any executor.
// Lifetime  What the work refers to must stay until it has ended, which is when this returns.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

namespace caisson {

// co_spawn wants results that can be made of nothing; a Result cannot.
template <typename T>
boost::asio::awaitable<std::optional<T>> AsOptional(boost::asio::awaitable<T> work) {
  co_return co_await std::move(work);
}

template <typename T>
boost::asio::awaitable<T> RunOn(boost::asio::any_io_executor executor,
                                boost::asio::awaitable<T> work) {
  auto result = co_await boost::asio::co_spawn(executor, AsOptional(std::move(work)),
                                               boost::asio::use_awaitable);
  co_return *std::move(result);
}

}  // namespace caisson
