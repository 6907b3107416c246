// Shows a run from its data in the store, for processes that do not run it.
//
// Trust     Same as RunService. Outcomes are hostile content.
// Threads   Any.
// Lifetime  The store outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "runs/run_service.h"
#include "store/store.h"

namespace caisson {

// Returns the view without the output of a sleeping run, which is sealed.
asio::awaitable<Result<RunView>> ViewStored(Store& store, IsolationKey owner, StoredRun stored);

// What a list knows of a run: no code, output, result, calls or approvals.
Result<RunView> ViewListed(ListedRun listed);

}  // namespace caisson
