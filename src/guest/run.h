// The life of a run: parse, check, compile and execute one piece of code, all on one tree (I7), and
// report. The way in is caisson_run of abi.h.
//
// Trust     The code is hostile; nothing of it runs before the whole tree is accepted.
// Threads   One per cell.
// Lifetime  See abi.h.
#ifndef CAISSON_GUEST_RUN_H_
#define CAISSON_GUEST_RUN_H_

// Runs our own `code` and tells nobody, so that what a run allocates once is in the snapshot.
void RunWarmUp(const char* code);

#endif  // CAISSON_GUEST_RUN_H_
