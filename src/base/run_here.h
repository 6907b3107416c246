// RunHere runs a coroutine to its end on the calling thread.
//
// Trust     Has none of its own.
// Threads   Any thread that is not already inside RunHere.
// Lifetime  The event loop lives as long as the thread. When RunHere returns, another thread that
//           completed the coroutine may still be inside its post() to the loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/spawn.h"

namespace caisson {

inline asio::io_context& LoopOfThisThread() {
  thread_local asio::io_context loop(1);
  return loop;
}

template <typename T>
T RunHere(asio::awaitable<T> work) {
  asio::io_context& loop = LoopOfThisThread();
  loop.restart();
  if constexpr (std::is_void_v<T>) {
    Spawn(loop.get_executor(), std::move(work));
    loop.run();
  } else {
    std::optional<T> result;
    const auto fill = [&]() -> asio::awaitable<void> { result = co_await std::move(work); };
    Spawn(loop.get_executor(), fill());
    loop.run();
    return *std::move(result);
  }
}

}  // namespace caisson
