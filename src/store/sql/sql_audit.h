// Appends to the audit log within the transaction of the audited change.
//
// Trust     Details may contain hostile text; it is written as JSON.
// Threads   The thread of the connection. Blocks.
// Lifetime  Keeps nothing.
#pragma once

#include "base/result.h"
#include "identity/identity.h"
#include "store/audit.h"
#include "store/sql/sql_connection.h"
#include "wire/value.h"

namespace caisson {

Result<void> AppendAudit(Connection& connection, const IsolationKey& owner,
                         const AuditEvent& event);
// The body is JSON made of `details`.
Result<void> AppendAudit(Connection& connection, const IsolationKey& owner, SystemTime at,
                         std::string kind, Dict details);

}  // namespace caisson
