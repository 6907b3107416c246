// Starts the interpreter in the state that every run finds.
//
// Trust     Runs only our own code and the modules it is told to import.
// Threads   One; there is no interpreter yet.
// Lifetime  Once per process. Cells come from its memory: from a snapshot of it, or by fork.
#ifndef CAISSON_GUEST_RUN_BOOT_H_
#define CAISSON_GUEST_RUN_BOOT_H_

#include "guest/python.h"

typedef struct BootPlan {
  const char* module_path;  // Directories to search for modules, in order, separated by colons.
  const char* preload;      // Names of further modules to import, separated by spaces.
  int forks;                // Cells are forked from this process: they have threads and real time.
} BootPlan;

// Returns 0, or the number of the step that failed, which is printed on stderr.
int32_t Boot(const BootPlan* plan);

// Performs once everything that nearly every run does.
void WarmUp(void);

#endif  // CAISSON_GUEST_RUN_BOOT_H_
