// A LowPriorityPool has named threads for work that may take long: parsing, checking and hashing
// large messages, starting programs, waiting for disks.
//
// Event loops and lanes serve many users and must not compute for more than a few milliseconds at
// once:
//
//   auto value = co_await CallAside(cpu_pool, body.size(), [&] { return ParseJson(body); });
//
// The kernel schedules lanes, event loops and workers before these threads. Programs that a thread
// of the pool starts inherit its priority, so a run that calls a thousand programs does not delay
// other users.
//
// Trust     Has none of its own.
// Threads   executor() may be called from any thread.
// Lifetime  Join() returns when all posted work is done. A coroutine that awaits work must live
//           until then.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/run_on.h"

namespace caisson {

class LowPriorityPool {
 public:
  // `nice` is added to the niceness of the process. With 5 more, a thread has a third of the
  // scheduling weight; with 10 more, a ninth.
  LowPriorityPool(const std::string& name, std::size_t threads, int nice)
      : work_(context_.get_executor()) {
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, nice, title = (name + std::to_string(i)).substr(0, kMaxName)] {
        ::pthread_setname_np(::pthread_self(), title.c_str());
        static_cast<void>(::nice(nice));  // On Linux, nice() affects the calling thread only.
        context_.run();
      });
    }
  }
  LowPriorityPool(const LowPriorityPool&) = delete;
  LowPriorityPool& operator=(const LowPriorityPool&) = delete;
  ~LowPriorityPool() { Join(); }

  boost::asio::any_io_executor executor() { return context_.get_executor(); }

  void Join() {
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  static constexpr std::size_t kMaxName = 15;  // The kernel's limit.

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
};

// The largest message that is read on the caller's thread. Reading it takes less than a
// millisecond.
inline constexpr std::size_t kSmallMessageBytes = 16u << 10;

// Calls `function`, which reads a message of `message_bytes`. Runs it in the pool if there is a
// pool and the message is large, otherwise on the caller's thread. Returns on the caller's
// executor. It cannot be cancelled.
template <typename Function>
asio::awaitable<std::invoke_result_t<Function>> CallAside(std::optional<asio::any_io_executor> pool,
                                                          std::size_t message_bytes,
                                                          Function function) {
  if (!pool || message_bytes <= kSmallMessageBytes) co_return function();
  co_return co_await CallOn(*std::move(pool), std::move(function));
}

}  // namespace caisson
