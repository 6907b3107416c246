// Stores in SQLite: a file for one host, memory for tests and trials.
//
// SQLite allows one writer at a time; readers do not wait for it. A second host process on the same
// file (the command line beside the server) waits its turn.
//
// Trust     The file is accessible to its owner only (0600).
// Threads   Same as Store.
// Lifetime  Same as Store.
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

// Fails with kFailedPrecondition if the file was written by a newer Caisson, kUnavailable if it
// cannot be opened.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options);

// The same in memory; the data ends with the Store.
Result<std::unique_ptr<Store>> OpenMemoryStore();

}  // namespace caisson
