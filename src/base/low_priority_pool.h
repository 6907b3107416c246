// A LowPriorityPool has named threads for work that may take long: parsing, checking and hashing large messages, starting
// programs, waiting for disks.
//
// Event loops and lanes serve many users and must not compute for more than a few milliseconds at once:
//
//   auto value = co_await CallAside(cpu_pool, body.size(), [&] { return ParseJson(body); });
//
// The kernel lets lanes, event loops and workers go first. Programs that a thread of the pool starts inherit its priority:
// a run that calls a thousand programs does not keep other users waiting.
//
// Trust     None of its own.
// Threads   executor() from anywhere.
// Lifetime  Join() returns when everything that was posted is done. Whoever awaits the work must live until then.
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
  // `nice` is added to the process's own: with 5 more a thread has a third of the weight, with 10 more a ninth.
  LowPriorityPool(const std::string& name, std::size_t threads, int nice)
      : work_(context_.get_executor()) {
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, nice, title = (name + std::to_string(i)).substr(0, kMaxName)] {
        ::pthread_setname_np(::pthread_self(), title.c_str());
        static_cast<void>(::nice(nice));  // Of this thread alone, as Linux has it.
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

// Reading a message of so many bytes takes less than a millisecond.
inline constexpr std::size_t kSmallMessageBytes = 16u << 10;

// Calls `function`, which reads a message of so many bytes: in the pool if the message is large and there is a pool, here if
// not. Comes back to the caller's executor. Nothing cancels it.
template <typename Function>
asio::awaitable<std::invoke_result_t<Function>> CallAside(std::optional<asio::any_io_executor> pool,
                                                          std::size_t message_bytes,
                                                          Function function) {
  if (!pool || message_bytes <= kSmallMessageBytes) co_return function();
  co_return co_await CallOn(*std::move(pool), std::move(function));
}

}  // namespace caisson
