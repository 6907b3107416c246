// What makes runs that start from one snapshot write to few of its pages: each page that is written to must be
// copied back before the next run.
//
// Trust     Runs before any code does. Whoever changes a count by hand breaks his own run.
// Threads   One.
// Lifetime  Once, as the last step of making a snapshot.
#ifndef CAISSON_GUEST_FOREVER_H_
#define CAISSON_GUEST_FOREVER_H_

// Objects of the snapshot live for ever: their reference counts are set so high that they are not kept any more
// (tools/guest/adapt_sources.py), so that looking at one does not write to it. All that the collector has set aside
// (gc.freeze), and what that refers to. -1: no memory.
int KeepForever(void);

// For objects of every size, a pool with room for many. Otherwise a run would begin by filling the gaps that
// importing a library has left, on one page after the other. Where cells are forked it does nothing.
void TakeFreshPools(void);

#endif  // CAISSON_GUEST_FOREVER_H_
