// EndedRunBatches stores runs that have ended, all that wait at a time in one transaction. While
// one transaction is under way, the next batch gathers.
//
// Trust     Contents are opaque bytes.
// Threads   Any executor; the transactions run on the database's threads.
// Lifetime  The database outlives it, and it outlives its operations.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "base/wakeup.h"
#include "store/ended_runs.h"
#include "store/sql/database.h"

namespace caisson {

class EndedRunBatches {
 public:
  explicit EndedRunBatches(Database& database) : database_(database) {}

  // Returns when the run is in the store.
  asio::awaitable<Result<void>> Store(EndedRun run);

 private:
  struct Waiting {
    EndedRun run;
    std::optional<Result<void>> result{};  // Set before the wakeup.
    std::shared_ptr<Wakeup> wakeup = std::make_shared<Wakeup>();
  };
  using Batch = std::vector<std::shared_ptr<Waiting>>;
  struct State {
    Batch waiting{};
    bool writing = false;  // One of the callers writes for all.
  };

  // Returns an empty batch if nothing waits; then nobody writes any more.
  Batch Take();
  asio::awaitable<void> Write(Batch batch);
  asio::awaitable<Result<void>> Insert(std::shared_ptr<const Batch> batch);

  Database& database_;
  Guarded<State> state_;
};

}  // namespace caisson
