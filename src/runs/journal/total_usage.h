// TotalUsage is the number and size of the waiting runs of all owners. It is counted in the store
// at times, and estimated in between.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  The store outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "base/guarded.h"
#include "base/result.h"
#include "store/maintenance.h"

namespace caisson {

class TotalUsage {
 public:
  explicit TotalUsage(StoreMaintenance& store) : store_(store) {}

  // Call it before one more run waits. Returns at least the usage of a second ago; it is not
  // counted each time, because counting many runs takes long.
  asio::awaitable<Result<RunUsage>> BeforeOneMore();

 private:
  struct Counted {
    RunUsage usage{};
    std::chrono::steady_clock::time_point until{};
  };

  StoreMaintenance& store_;
  Guarded<Counted> counted_;
};

}  // namespace caisson
