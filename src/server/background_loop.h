// A BackgroundLoop is an event loop on a thread of its own, for programs without an event loop.
//
// Trust     Handles no data.
// Threads   executor() runs work on that thread.
// Lifetime  The destructor waits until all posted work is done.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace caisson {

class BackgroundLoop {
 public:
  BackgroundLoop() = default;
  BackgroundLoop(const BackgroundLoop&) = delete;
  BackgroundLoop& operator=(const BackgroundLoop&) = delete;
  ~BackgroundLoop() {
    work_.reset();
    thread_.join();
  }

  boost::asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  std::thread thread_{[this] { context_.run(); }};
};

}  // namespace caisson
