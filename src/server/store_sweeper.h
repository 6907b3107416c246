// A StoreSweeper removes data from the store that is older than its retention. It sweeps at the
// start and then every hour, or more often if a retention is short.
//
// Trust     Handles no hostile data. The store decides what may be removed
//           (StoreMaintenance::Sweep).
// Threads   Works on a thread of its own. `log` is called on that thread.
// Lifetime  Store and clock outlive it. The destructor waits for the current sweep.
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
  std::function<void(std::string_view problem)> log{};  // The sweep is repeated later.
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
