#include "store/sqlite/sqlite_store.h"

#include <utility>

#include "store/sql/sql_store.h"
#include "store/sqlite/sqlite_connection.h"

namespace caisson {

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  Database::Connections writers;
  TRY_ASSIGN(writers.emplace_back(),
             SqliteConnection::Open(options.path, Access::kWrite, options.busy_timeout));
  Database::Connections readers;
  for (std::size_t i = 0; i < options.readers; ++i) {
    TRY_ASSIGN(readers.emplace_back(),
               SqliteConnection::Open(options.path, Access::kRead, options.busy_timeout));
  }
  return OpenSqlStore(std::make_unique<Database>(std::move(writers), std::move(readers)));
}

Result<std::unique_ptr<Store>> OpenMemoryStore() {
  // One connection, because each one would open a separate memory.
  Database::Connections connections;
  TRY_ASSIGN(connections.emplace_back(),
             SqliteConnection::Open(":memory:", Access::kWrite, std::chrono::seconds(0)));
  return OpenSqlStore(std::make_unique<Database>(std::move(connections)));
}

}  // namespace caisson
