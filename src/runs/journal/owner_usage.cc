#include "runs/journal/owner_usage.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/health.h"

namespace caisson {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostOwners = 4096;  // Remembered at once.
constexpr std::uint64_t kMostBytesPerSecond = 256u << 20;
constexpr std::uint64_t kLongestSeconds = 10;

// How long a count is good enough: an owner with much room cannot use it up meanwhile.
Steady::duration GoodFor(std::uint64_t room) {
  return std::chrono::seconds(
      std::clamp<std::uint64_t>(room / kMostBytesPerSecond, 1, kLongestSeconds));
}

}  // namespace

asio::awaitable<Result<void>> OwnerUsage::BeforeOneMore(IsolationKey owner) {
  std::optional<std::uint64_t> bytes;
  {
    auto counted = counted_.Lock();
    const auto found = counted->find(owner);
    // Who is above the limit is counted again: something may have been swept.
    if (found != counted->end() && Steady::now() < found->second.until &&
        found->second.bytes < max_bytes_) {
      bytes = found->second.bytes;
    }
  }
  if (!bytes) {
    const auto stored = co_await store_.StoredBytes(owner);
    if (!stored && IsStoreFailure(stored.error())) co_return Result<void>();
    if (!stored) co_return stored.error();
    bytes = *stored;
    auto counted = counted_.Lock();
    if (counted->size() >= kMostOwners) counted->clear();
    const std::uint64_t room = max_bytes_ - std::min(*stored, max_bytes_);
    counted->insert_or_assign(owner,
                              Counted{.bytes = *stored, .until = Steady::now() + GoodFor(room)});
  }
  if (*bytes < max_bytes_) co_return Result<void>();
  co_return Error(ErrorCode::kResourceExhausted,
                  "your runs take " + std::to_string(*bytes) + " bytes in the store; at most " +
                      std::to_string(max_bytes_) +
                      " may be kept (runs.max_stored_bytes). Try again when old runs have been "
                      "removed (retention.runs_days)");
}

}  // namespace caisson
