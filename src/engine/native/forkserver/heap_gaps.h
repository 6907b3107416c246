// Makes future allocations contiguous, at the end of the heap.
//
// Imports leave gaps all over the heap. Allocations that fill the gaps write to many pages, and in
// a forked process each of those is one more page to copy.
//
// Trust     -
// Threads   One, with one heap for all (M_ARENA_MAX).
// Lifetime  The gaps stay allocated for ever; this is the cost.
#pragma once

namespace caisson::forkserver {

void CloseHeapGaps();

}  // namespace caisson::forkserver
