// A DecisionBell notifies waiters in this process that something about a run was decided.
//
// A woken waiter reads the store. Decisions of other processes are found by polling the store.
//
// Trust     Same as Bell.
// Threads   Same as Bell.
// Lifetime  Same as Bell.
#pragma once

#include "base/bell.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

using DecisionBell = Bell<IsolationKey, RunId>;

}  // namespace caisson
