// The tables, their migrations, and the check that this program understands them.
//
// Trust     Trusted callers only.
// Threads   The thread that opens the database. Replicas that open it at the same time wait for
//           each other.
// Lifetime  Keeps nothing.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "store/sql/sql_connection.h"

namespace caisson {

// One migration: statements separated by semicolons, with {text} and {bytes} for the dialect's
// types.
using Migration = std::string_view;

// Migration n leads to version n + 1. A released migration is never changed.
std::span<const Migration> Migrations();

// Brings the tables to the newest version, in the current transaction. Fails with
// kFailedPrecondition if they are newer than this program knows; nothing was changed then.
Result<void> Migrate(Connection& connection, std::span<const Migration> migrations);

}  // namespace caisson
