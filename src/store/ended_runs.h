// Stores runs that have ended, many in one transaction. For runs of which nothing is stored before
// their end.
//
// Trust     Contents are opaque bytes.
// Threads   Any executor; calls do not block it.
// Lifetime  The store outlives the operations.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "store/runs.h"

namespace caisson {

// All that is kept of such a run.
struct EndedRun {
  IsolationKey owner;
  RunId id;
  std::string code_digest{};
  std::string request{};  // As in NewRun.
  std::shared_ptr<const RunEnd> end{};
  SystemTime created_at{};
  SystemTime ended_at{};
};

// Implemented by run stores that store the runs of all callers together.
class EndedRunStore {
 public:
  virtual ~EndedRunStore() = default;
  // Returns when the run is in the store. Repeating it changes nothing.
  virtual asio::awaitable<Result<void>> StoreEnded(EndedRun run) = 0;
};

// Uses the store's own way, or else creates and finishes the run.
asio::awaitable<Result<void>> StoreEnded(RunStore& store, EndedRun run);

}  // namespace caisson
