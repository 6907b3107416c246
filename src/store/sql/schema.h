// The tables, how they came to be, and whether this program understands them.
//
// Trust     Ours.
// Threads   Whoever opens the database; replicas that open it at once wait for each other.
// Lifetime  Nothing is kept.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "store/sql/connection.h"

namespace caisson {

// One step forward: statements, separated by semicolons, with {text} and {bytes} for the dialect's types.
using Migration = std::string_view;

// Step n leads to version n + 1. A step that was released is never changed.
std::span<const Migration> Migrations();

// Brings the tables to the newest version, in the transaction under way. kFailedPrecondition: they are newer than
// this program knows; nothing was touched.
Result<void> Migrate(Connection& connection, std::span<const Migration> migrations);

}  // namespace caisson
