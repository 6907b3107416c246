// SqlStore is a Store over any Database.
//
// Trust     As Store.
// Threads   As Store.
// Lifetime  As Store.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/sql/database.h"
#include "store/store.h"

namespace caisson {

// Migrates the schema first.
Result<std::unique_ptr<Store>> OpenSqlStore(std::unique_ptr<Database> database);
// The same for a database whose connections have the schema when they are used.
std::unique_ptr<Store> OpenMigratedStore(std::unique_ptr<Database> database);

// One per concern; `database` outlives them.
std::unique_ptr<RunStore> MakeSqlRuns(Database& database);
std::unique_ptr<ApprovalStore> MakeSqlApprovals(Database& database);
std::unique_ptr<AuditLog> MakeSqlAudit(Database& database);
std::unique_ptr<CheckpointStore> MakeSqlCheckpoints(Database& database);
std::unique_ptr<ResponseStore> MakeSqlResponses(Database& database);
std::unique_ptr<TurnStore> MakeSqlTurns(Database& database);
std::unique_ptr<DocumentStore> MakeSqlDocuments(Database& database, std::string collection);
std::unique_ptr<StoreMaintenance> MakeSqlMaintenance(Database& database);

}  // namespace caisson
