// Stores in SQLite: a file for one host, memory for tests and trials.
//
// One writer at a time, as SQLite has it; readers do not wait for it. A second host process on the same file (the
// command line beside the server) waits its turn.
//
// Trust     The file is created for its owner alone (0600).
// Threads   As Store.
// Lifetime  As Store.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace caisson {

struct SqliteOptions {
  std::string path;
  std::size_t readers = 2;
  std::chrono::milliseconds busy_timeout = std::chrono::seconds(5);
};

// kFailedPrecondition: written by a newer Caisson. kUnavailable: it cannot be opened.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options);

// The same in memory: gone with the Store.
Result<std::unique_ptr<Store>> OpenMemoryStore();

}  // namespace caisson
