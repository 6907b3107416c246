// A Periodic repeats a piece of work on a thread of its own: at once, and then `interval` after
// each end.
//
// Trust     Handles no data.
// Threads   The work runs on that thread and may block it.
// Lifetime  The destructor waits for the current work. No work begins after that.
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
  bool stopped_ = false;  // next_ and stopped_ are used only on thread_.
  std::thread thread_;
};

}  // namespace caisson
