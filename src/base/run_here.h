// RunHere runs a coroutine to its end on the calling thread.
//
// Trust     None of its own.
// Threads   Any that is not running one already.
// Lifetime  The event loop stays with the thread: whoever ended the coroutine from elsewhere may still be leaving its
//           post() to it when this returns.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <type_traits>
#include <utility>

namespace caisson {

namespace asio = boost::asio;

inline asio::io_context& LoopOfThisThread() {
  thread_local asio::io_context loop(1);
  return loop;
}

template <typename T>
T RunHere(asio::awaitable<T> work) {
  asio::io_context& loop = LoopOfThisThread();
  loop.restart();
  if constexpr (std::is_void_v<T>) {
    asio::co_spawn(loop, std::move(work), asio::detached);
    loop.run();
  } else {
    std::optional<T> result;
    const auto fill = [&]() -> asio::awaitable<void> { result = co_await std::move(work); };
    asio::co_spawn(loop, fill, asio::detached);
    loop.run();
    return *std::move(result);
  }
}

}  // namespace caisson
