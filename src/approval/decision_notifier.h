// A DecisionNotifier wakes the runs of this process for which a decision was stored.
//
// The store is the truth: a woken run reads its decisions there. Decisions of other processes are
// found by polling.
//
// Trust     As Notifier.
// Threads   As Notifier.
// Lifetime  As Notifier.
#pragma once

#include "base/notifier.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

using DecisionNotifier = Notifier<IsolationKey, RunId>;

}  // namespace caisson
