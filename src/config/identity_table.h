// The table [identity]: who may ask, and how they say who they are.
//
// Trust     The operator's own file.
// Threads   One.
// Lifetime  Nothing is kept.
#pragma once

#include "config/config.h"
#include "config/table_reader.h"

namespace caisson {

IdentityConfig ReadIdentity(TableReader table, Problems& problems);

}  // namespace caisson
