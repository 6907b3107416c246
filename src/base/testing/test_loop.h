// A TestLoop is an event loop that a test drives: it runs coroutines and lets them wait.
//
//   const auto reply = loop.Await(client.Ask(question));
//   loop.Start(server.Serve());   loop.Until([&] { return server.requests() == 2; });
//
// Trust     For tests.
// Threads   One.
// Lifetime  The loop outlives what runs in it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/spawn.h"

namespace caisson {

class TestLoop {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  asio::io_context& context() { return context_; }

  // Starts `work`, which continues whenever the loop runs. An exception out of it ends the program.
  void Start(asio::awaitable<void> work) { Spawn(context_.get_executor(), std::move(work)); }
  // Runs until everything waits.
  void Poll() {
    context_.restart();
    context_.poll();
  }
  // Runs until `done()`. Throws if that takes longer than kPatience.
  void Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= deadline) throw std::runtime_error("the test hangs");
      context_.restart();
      context_.run_one_for(std::chrono::milliseconds(100));
    }
  }
  // Runs until `work` has ended.
  template <typename T>
  T Await(asio::awaitable<T> work) {
    using Kept = std::conditional_t<std::is_void_v<T>, bool, T>;
    std::optional<Kept> result;
    Start([](asio::awaitable<T> work, std::optional<Kept>& result) -> asio::awaitable<void> {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        result = true;
      } else {
        result.emplace(co_await std::move(work));
      }
    }(std::move(work), result));
    Until([&] { return result.has_value(); });
    if constexpr (!std::is_void_v<T>) return *std::move(result);
  }

 private:
  asio::io_context context_;
};

}  // namespace caisson
