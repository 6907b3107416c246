// Makes what is allocated from now on lie together, at the end of the heap.
//
// Importing leaves gaps all over the heap, and whoever fills them writes to a page here and a page there: in a forked
// process each is one more page to copy.
//
// Trust     -
// Threads   One, with one heap for all (M_ARENA_MAX).
// Lifetime  What was free in between stays allocated for ever: that is the price.
#pragma once

namespace caisson::nursery {

void CloseHeapGaps();

}  // namespace caisson::nursery
