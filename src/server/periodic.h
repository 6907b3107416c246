// Does a piece of work at once and then again and again, a while after it was last done, on a thread of its own.
//
// Trust     None of its own.
// Threads   The work is done on the thread that it has, and may block it.
// Lifetime  The destructor waits for work under way; none begins after that.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <thread>

namespace caisson {

namespace asio = boost::asio;

class Periodic {
 public:
  Periodic(std::chrono::nanoseconds interval, std::function<asio::awaitable<void>()> work);
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;
  ~Periodic();

 private:
  asio::awaitable<void> WorkUntilStopped();

  const std::chrono::milliseconds interval_;
  const std::function<asio::awaitable<void>()> work_;
  asio::io_context context_{1};
  asio::steady_timer next_{context_};
  bool stopped_ = false;  // Both are used on the thread alone.
  std::thread thread_;
};

}  // namespace caisson
