// A StoreSweeper drops from the store what is older than its retention: when it begins, and every hour, or oftener
// where things are kept for a shorter time.
//
// Trust     Ours. What may go at all is the store's to know (StoreMaintenance::Sweep).
// Threads   Has one of its own; `log` is called on it.
// Lifetime  Store and clock outlive it. The destructor waits for a sweep under way.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "server/periodic.h"
#include "store/store.h"

namespace caisson {

struct StoreSweeperOptions {
  Retention retention{};
  std::chrono::nanoseconds longest_interval = std::chrono::hours(1);
  std::function<void(std::string_view problem)> log{};  // It is tried again.
};

class StoreSweeper {
 public:
  StoreSweeper(Store& store, const Clock& clock, StoreSweeperOptions options);

 private:
  asio::awaitable<void> Sweep();

  Store& store_;
  const Clock& clock_;
  const StoreSweeperOptions options_;
  const Periodic sweeping_;
};

}  // namespace caisson
