// What a nursery needs of the guest beyond abi.h: an interpreter that cells are forked from.
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

// As caisson_boot, with modules from `module_path` (colons in between), after importing `preload`
// (spaces in between). Our own Python parts come from inside the program.
int32_t caisson_boot_native(const char* module_path, const char* preload);

// In a cell, once it is forked: chance of its own. Nothing else needs to be put right, as it would after
// os.fork(): there was one thread, which held the interpreter's lock and goes on in the child. 0: done.
int32_t caisson_reseed(void);

// In a cell that waits for its run: takes the pages that small objects of any size will come to lie in.
void caisson_touch_pools(void);

// Whether memory was refused to the interpreter since it was last asked.
int32_t caisson_memory_refused(void);

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_GUEST_NATIVE_FORKED_H_
