// A StoreSweeper drops from the store what is older than its retention: when it begins, and every hour.
//
// Trust     Ours. What may go at all is the store's to know (StoreMaintenance::Sweep).
// Threads   Has one of its own; `log` is called on it.
// Lifetime  Store and clock outlive it. The destructor waits for a sweep under way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "store/store.h"

namespace caisson {

struct StoreSweeperOptions {
  Retention retention{};
  std::chrono::nanoseconds interval = std::chrono::hours(1);
  std::function<void(std::string_view problem)> log{};  // It is tried again an interval later.
};

class StoreSweeper {
 public:
  StoreSweeper(Store& store, const Clock& clock, StoreSweeperOptions options);
  StoreSweeper(const StoreSweeper&) = delete;
  StoreSweeper& operator=(const StoreSweeper&) = delete;
  ~StoreSweeper();

 private:
  asio::awaitable<void> SweepUntilStopped();

  Store& store_;
  const Clock& clock_;
  const StoreSweeperOptions options_;
  asio::io_context context_{1};
  asio::steady_timer next_{context_};
  bool stopped_ = false;  // Both are used on the thread alone.
  std::thread thread_;
};

}  // namespace caisson
