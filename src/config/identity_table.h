// Reads the table [identity]: how callers are identified.
//
// Trust     The operator's own file.
// Threads   One.
// Lifetime  Keeps nothing.
#pragma once

#include "config/config.h"
#include "config/table_reader.h"

namespace caisson {

IdentityConfig ReadIdentity(TableReader table, Problems& problems);

}  // namespace caisson
