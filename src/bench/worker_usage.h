// Reads the memory use of this process's workers from the kernel.
//
// Trust     Read from /proc about this process's own children.
// Threads   Any.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace caisson::bench {

// Returns the private memory of all children of this process, with its page tables. The mapped
// snapshot is in the page cache once. Fails with kUnavailable if /proc does not show it.
Result<std::uint64_t> ReadWorkerBytes();

// Returns the bytes of each cell of the fork servers: shared pages count by their share; plus its
// part of the processes that fork servers keep for making cells. Empty if /proc does not show it to
// this user.
std::vector<double> ReadNativeCellBytes();

// Returns the same memory of this process itself.
Result<std::uint64_t> ReadOwnBytes();

}  // namespace caisson::bench
