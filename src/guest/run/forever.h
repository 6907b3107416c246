// Makes runs that start from one snapshot write to few of its pages: each written page must be
// copied back before the next run.
//
// Trust     Runs before any code does. Code that changes a reference count by hand breaks its own
//           run.
// Threads   One.
// Lifetime  Once, as the last step of making a snapshot.
#ifndef CAISSON_GUEST_RUN_FOREVER_H_
#define CAISSON_GUEST_RUN_FOREVER_H_

// Makes the objects of the snapshot immortal: their reference counts are set so high that they are
// no longer updated (tools/guest/adapt_sources.py), so that using an object does not write to it.
// Covers everything that the collector has set aside (gc.freeze) and the objects that it refers to.
// Returns -1 if there is no memory.
int KeepForever(void);

// Reserves a pool with much free space for objects of every size. Otherwise a run would first fill
// the gaps that imports have left, on one page after the other. Does nothing where cells are
// forked.
void TakeFreshPools(void);

#endif  // CAISSON_GUEST_RUN_FOREVER_H_
