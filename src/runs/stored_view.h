// What a store alone knows of a run: for those who look from outside the process that runs it.
//
// Trust     As RunService. Outcomes stay hostile content.
// Threads   Any.
// Lifetime  The store outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "runs/run_service.h"
#include "store/store.h"

namespace caisson {

// Without what a sleeping run has printed: that is sealed.
asio::awaitable<Result<RunView>> ViewStored(Store& store, IsolationKey owner, StoredRun stored);

// What a list knows of a run: no code, output, result, calls or approvals.
Result<RunView> ViewListed(ListedRun listed);

}  // namespace caisson
