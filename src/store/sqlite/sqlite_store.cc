#include "store/sqlite/sqlite_store.h"

#include <utility>

#include "store/sql/sql_schema.h"
#include "store/sql/sql_store.h"
#include "store/sqlite/sqlite_connection.h"

namespace caisson {
namespace {

// A database in memory that is created by its first transaction. Creating it takes milliseconds,
// and a single run that asks nobody never uses it.
class MemoryConnection final : public Connection {
 public:
  Result<void> Begin(Access access) override {
    if (database_ == nullptr) TRY(Create());
    return database_->Begin(access);
  }
  Result<SqlResult> Run(std::string_view sql, std::vector<SqlValue> parameters) override {
    return database_->Run(sql, std::move(parameters));
  }
  Result<void> Commit() override { return database_->Commit(); }
  void Rollback() override {
    if (database_ != nullptr) database_->Rollback();
  }
  Failure failure() const override {
    return database_ != nullptr ? database_->failure() : Failure::kFinal;
  }
  const Dialect& dialect() const override { return database_->dialect(); }

 private:
  Result<void> Create() {
    TRY_ASSIGN(auto created,
               SqliteConnection::Open(":memory:", Access::kWrite, std::chrono::seconds(0)));
    TRY(created->Begin(Access::kWrite));
    TRY(Migrate(*created, Migrations()));
    TRY(created->Commit());
    database_ = std::move(created);
    return {};
  }

  std::unique_ptr<SqliteConnection> database_;  // Null until the first transaction.
};

}  // namespace

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
  connections.push_back(std::make_unique<MemoryConnection>());
  return OpenMigratedStore(std::make_unique<Database>(std::move(connections)));
}

}  // namespace caisson
