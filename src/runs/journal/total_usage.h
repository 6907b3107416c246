// TotalUsage is how much waits, of everybody: counted in the store now and then, and estimated between.
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

  // For somebody who asks because one more is about to wait. Never less than what waited a second ago: counting takes
  // as long as there is much to count.
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
