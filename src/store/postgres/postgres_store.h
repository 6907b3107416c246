// A Store in PostgreSQL.
//
// Trust     The server is trusted with the stored data; blobs are sealed before they come here. For
//           a server across a network the URL should ask for sslmode=verify-full.
// Threads   Same as Store.
// Lifetime  Same as Store.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace caisson {

struct PostgresOptions {
  std::string url;  // "postgres://user@host/name?..." or libpq's key=value words.
  std::size_t connections = 4;
};

// Fails with kFailedPrecondition if the database was written by a newer Caisson, kUnavailable if
// the server cannot be reached.
Result<std::unique_ptr<Store>> OpenPostgresStore(const PostgresOptions& options);

}  // namespace caisson
