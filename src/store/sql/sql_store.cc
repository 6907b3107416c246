#include "store/sql/sql_store.h"

#include <utility>

#include "store/sql/sql_schema.h"

namespace caisson {
namespace {

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  RunStore& runs() override { return *runs_; }
  ApprovalStore& approvals() override { return *approvals_; }
  AuditLog& audit() override { return *audit_; }
  CheckpointStore& checkpoints() override { return *checkpoints_; }
  ResponseStore& responses() override { return *responses_; }
  TurnStore& turns() override { return *turns_; }
  DocumentStore& sessions() override { return *sessions_; }
  DocumentStore& snapshots() override { return *snapshots_; }
  StoreMaintenance& maintenance() override { return *maintenance_; }
  StoreHealth& health() override { return database_->health(); }

 private:
  const std::unique_ptr<Database> database_;
  // The stores hold no state, so the database may be destroyed last; its destructor waits for
  // current operations.
  const std::unique_ptr<RunStore> runs_ = MakeSqlRuns(*database_);
  const std::unique_ptr<ApprovalStore> approvals_ = MakeSqlApprovals(*database_);
  const std::unique_ptr<AuditLog> audit_ = MakeSqlAudit(*database_);
  const std::unique_ptr<CheckpointStore> checkpoints_ = MakeSqlCheckpoints(*database_);
  const std::unique_ptr<ResponseStore> responses_ = MakeSqlResponses(*database_);
  const std::unique_ptr<TurnStore> turns_ = MakeSqlTurns(*database_);
  const std::unique_ptr<DocumentStore> sessions_ = MakeSqlDocuments(*database_, "session");
  const std::unique_ptr<DocumentStore> snapshots_ = MakeSqlDocuments(*database_, "snapshot");
  const std::unique_ptr<StoreMaintenance> maintenance_ = MakeSqlMaintenance(*database_);
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlStore(std::unique_ptr<Database> database) {
  TRY(database->TransactNow(
      Access::kWrite, [](Connection& connection) { return Migrate(connection, Migrations()); }));
  return OpenMigratedStore(std::move(database));
}

std::unique_ptr<Store> OpenMigratedStore(std::unique_ptr<Database> database) {
  return std::make_unique<SqlStore>(std::move(database));
}

}  // namespace caisson
