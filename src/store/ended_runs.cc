#include "store/ended_runs.h"

#include <chrono>
#include <utility>

namespace caisson {
namespace {

// Between the two operations nobody else may take the run.
constexpr std::chrono::seconds kLease{30};

}  // namespace

asio::awaitable<Result<void>> StoreEnded(RunStore& store, EndedRun run) {
  if (auto* own = dynamic_cast<EndedRunStore*>(&store)) {
    co_return co_await own->StoreEnded(std::move(run));
  }
  auto lease = co_await store.Create(
      run.owner, {.id = run.id, .code_digest = run.code_digest, .request = run.request},
      {.holder = run.id.str(), .now = run.created_at, .until = run.ended_at + kLease});
  if (!lease) co_return std::move(lease).error();
  lease->repeats = true;
  co_return co_await store.Finish(run.owner, run.id, *lease, run.end, run.ended_at);
}

}  // namespace caisson
