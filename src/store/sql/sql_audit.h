// Appending to the audit log within a transaction that does something worth auditing.
#pragma once

#include "base/result.h"
#include "identity/identity.h"
#include "store/audit.h"
#include "store/sql/connection.h"
#include "wire/value.h"

namespace caisson {

Result<void> AppendAudit(Connection& connection, const IsolationKey& owner,
                         const AuditEvent& event);
// With a body of JSON made of `details`.
Result<void> AppendAudit(Connection& connection, const IsolationKey& owner, SystemTime at,
                         std::string kind, Dict details);

}  // namespace caisson
