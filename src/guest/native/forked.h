// The functions of the guest that a fork server needs in addition to abi.h: an interpreter from
// which cells are forked.
//
// Trust     Until caisson_run, only our own code and the operator's modules have run.
// Threads   One: the interpreter must not have started any when it is forked.
// Lifetime  Boot once, then fork any number of times; each child is one cell.
#ifndef CAISSON_GUEST_NATIVE_FORKED_H_
#define CAISSON_GUEST_NATIVE_FORKED_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// As caisson_boot, with modules from `module_path` (separated by colons), after importing `preload`
// (separated by spaces). Our own Python parts are embedded in the program.
int32_t caisson_boot_native(const char* module_path, const char* preload);

// Call in a cell after the fork: gives it its own random state. Nothing else needs repair, as it
// would after os.fork(): there was one thread, which held the interpreter lock and continues in the
// child. Returns 0 on success.
int32_t caisson_reseed(void);

// Call in a cell that waits for its run: touches the pages where small objects of each size will be
// allocated.
void caisson_touch_pools(void);

// Returns whether memory was refused to the interpreter since the last call.
int32_t caisson_memory_refused(void);

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_GUEST_NATIVE_FORKED_H_
