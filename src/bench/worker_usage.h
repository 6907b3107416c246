// What this process's workers use, as the kernel counts it.
//
// Trust     Read from /proc about our own children.
// Threads   Any.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace caisson::bench {

// Memory of all children of this process that is theirs alone, with its page tables. The mapped snapshot is in the page
// cache once. kUnavailable: /proc does not tell.
Result<std::uint64_t> ReadWorkerBytes();

// Bytes of each cell of our nurseries, shared pages counted by their share; with its part of the processes that
// nurseries keep to make cells in. None where /proc does not tell, or not us.
std::vector<double> ReadNativeCellBytes();

// The same memory of this process itself.
Result<std::uint64_t> ReadOwnBytes();

}  // namespace caisson::bench
