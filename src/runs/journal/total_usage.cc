#include "runs/journal/total_usage.h"

#include <utility>

namespace caisson {

asio::awaitable<Result<RunUsage>> TotalUsage::BeforeOneMore() {
  using Clock = std::chrono::steady_clock;
  {
    auto counted = counted_.Lock();
    if (Clock::now() < counted->until) {
      const RunUsage usage = counted->usage;
      ++counted->usage.waiting_runs;
      co_return usage;
    }
  }
  const auto usage = co_await store_.Usage();
  if (!usage) co_return usage.error();
  auto counted = counted_.Lock();
  *counted = {.usage = *usage, .until = Clock::now() + std::chrono::seconds(1)};
  ++counted->usage.waiting_runs;
  co_return *usage;
}

}  // namespace caisson
