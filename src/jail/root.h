// Replaces the root directory of this mount namespace by an empty, read-only one.
//
// Trust     Privileged, and ruinous in the wrong namespace: callers make sure they are in a mount
//           namespace of their own.
// Threads   Single-threaded processes only.
// Lifetime  Cannot be undone: the old root is detached.
#pragma once

#include "base/result.h"

namespace caisson::jail {

// Returns null, or the step that failed with errno telling why. No heap: the probe calls it in the
// child of a clone.
const char* SwapRoot();

// Looks from inside: nothing in "/", and nothing can be made there.
Result<void> VerifyEmptyRoot();

}  // namespace caisson::jail
