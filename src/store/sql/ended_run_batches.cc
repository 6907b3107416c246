#include "store/sql/ended_run_batches.h"

#include <cstdint>
#include <string>
#include <utility>

namespace caisson {
namespace {

constexpr std::size_t kMostRuns = 512;
constexpr std::size_t kMostBytes = 8u << 20;

std::size_t BytesOf(const EndedRun& run) {
  std::size_t bytes = run.request.size() + run.end->summary.size() + run.end->outcome.size();
  for (const std::string& file : run.end->files) bytes += file.size();
  return bytes;
}

// The row of a run that was created and finished, in one step. It has no calls and no approvals.
Result<void> InsertOne(Connection& connection, const EndedRun& run) {
  const RunEnd& end = *run.end;
  TRY_ASSIGN(const SqlResult made,
             connection.Run("INSERT INTO runs (owner, id, state, fence, holder, lease_until, "
                            "code_digest, request, created_at, updated_at, stored_bytes, summary) "
                            "VALUES ($1, $2, 'finished', 1, NULL, 0, $3, $4, $5, $6, $7, $8) "
                            "ON CONFLICT (owner, id) DO NOTHING",
                            {run.owner.str(), run.id.str(), run.code_digest, Bytes{run.request},
                             ToSql(run.created_at), ToSql(run.ended_at),
                             static_cast<std::int64_t>(BytesOf(run)), Bytes{end.summary}}));
  if (made.changed != 1) return {};  // An earlier attempt has stored it.
  TRY(connection.Run("INSERT INTO run_outcomes (owner, run, outcome) VALUES ($1, $2, $3)",
                     {run.owner.str(), run.id.str(), Bytes{end.outcome}}));
  for (std::size_t i = 0; i < end.files.size(); ++i) {
    TRY(connection.Run(
        "INSERT INTO run_files (owner, run, number, contents) "
        "VALUES ($1, $2, $3, $4)",
        {run.owner.str(), run.id.str(), static_cast<std::int64_t>(i), Bytes{end.files[i]}}));
  }
  return {};
}

}  // namespace

asio::awaitable<Result<void>> EndedRunBatches::Store(EndedRun run) {
  const auto own = std::make_shared<Waiting>(Waiting{.run = std::move(run)});
  bool writes = false;
  {
    auto state = state_.Lock();
    state->waiting.push_back(own);
    writes = !std::exchange(state->writing, true);
  }
  if (writes) {
    for (Batch batch = Take(); !batch.empty(); batch = Take()) co_await Write(std::move(batch));
  }
  // A cancelled caller waits all the same: its run is being stored.
  while (co_await own->wakeup->Sleep() != Wakeup::Reason::kWoken) {
  }
  co_return *own->result;
}

EndedRunBatches::Batch EndedRunBatches::Take() {
  auto state = state_.Lock();
  Batch batch;
  std::size_t bytes = 0;
  while (batch.size() < state->waiting.size() && batch.size() < kMostRuns && bytes < kMostBytes) {
    bytes += BytesOf(state->waiting[batch.size()]->run);
    batch.push_back(state->waiting[batch.size()]);
  }
  state->waiting.erase(state->waiting.begin(),
                       state->waiting.begin() + static_cast<std::ptrdiff_t>(batch.size()));
  if (batch.empty()) state->writing = false;
  return batch;
}

asio::awaitable<void> EndedRunBatches::Write(Batch batch) {
  const auto stored = co_await Insert(std::make_shared<const Batch>(batch));
  for (const auto& each : batch) {
    Result<void> result = stored;
    if (!stored && !IsStoreFailure(stored.error()) && batch.size() > 1) {
      // It is a matter of one of them, which must not take the others along.
      result = co_await Insert(std::make_shared<const Batch>(1, each));
    }
    each->result = std::move(result);
    each->wakeup->Wake();
  }
}

asio::awaitable<Result<void>> EndedRunBatches::Insert(std::shared_ptr<const Batch> batch) {
  return database_.Transact(Access::kWrite, [batch](Connection& connection) -> Result<void> {
    for (const auto& each : *batch) TRY(InsertOne(connection, each->run));
    return {};
  });
}

}  // namespace caisson
