// Executes a run: parses, checks, compiles and executes one piece of code, all on one tree (I7),
// and reports. The entry point is caisson_run of abi.h.
//
// Trust     The code is hostile; none of it runs before the whole tree is accepted.
// Threads   One per cell.
// Lifetime  See abi.h.
#ifndef CAISSON_GUEST_RUN_RUN_H_
#define CAISSON_GUEST_RUN_RUN_H_

// Runs our own `code` without a report, so that everything that a run allocates once is in the
// snapshot.
void RunWarmUp(const char* code);

#endif  // CAISSON_GUEST_RUN_RUN_H_
