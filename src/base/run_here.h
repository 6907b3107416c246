// RunHere runs a coroutine to its end on the calling thread.
//
// Trust     None of its own.
// Threads   Any that is not running one already.
// Lifetime  The event loop stays with the thread: whoever ended the coroutine from elsewhere may still be leaving its
//           post() to it when this returns.
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
