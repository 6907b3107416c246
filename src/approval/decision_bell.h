// A DecisionBell tells whoever waits in this process that something about a run was decided.
//
// Who is woken looks at the store; decisions made by other processes are found by looking now and then.
//
// Trust     As Bell.
// Threads   As Bell.
// Lifetime  As Bell.
#pragma once

#include "base/bell.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

using DecisionBell = Bell<IsolationKey, RunId>;

}  // namespace caisson
