#include "store/postgres/postgres_store.h"

#include <utility>

#include "store/postgres/postgres_connection.h"
#include "store/sql/sql_store.h"

namespace caisson {

Result<std::unique_ptr<Store>> OpenPostgresStore(const PostgresOptions& options) {
  Database::Connections connections;
  for (std::size_t i = 0; i < options.connections; ++i) {
    connections.push_back(std::make_unique<PostgresConnection>(options.url));
  }
  return OpenSqlStore(std::make_unique<Database>(std::move(connections)));
}

}  // namespace caisson
