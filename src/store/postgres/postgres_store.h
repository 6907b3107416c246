// A Store in PostgreSQL.
//
// Trust     The server is trusted with what is stored; blobs are sealed before they come here. For a server across a
//           network the URL should ask for sslmode=verify-full.
// Threads   As Store.
// Lifetime  As Store.
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

// kFailedPrecondition: written by a newer Caisson. kUnavailable: no such server just now.
Result<std::unique_ptr<Store>> OpenPostgresStore(const PostgresOptions& options);

}  // namespace caisson
