// Brings the interpreter up the way every run finds it.
//
// Trust     Runs only our own code and the modules it is told to import.
// Threads   One; there is no interpreter yet.
// Lifetime  Once per process. Cells come from its memory: as a snapshot of it, or by fork.
#ifndef CAISSON_GUEST_BOOT_H_
#define CAISSON_GUEST_BOOT_H_

#include "guest/python.h"

typedef struct BootPlan {
  const char* module_path;  // Where modules are looked for, in that order; colons in between.
  const char* preload;      // Names of further modules to import; spaces in between.
  int forks;                // Cells are forked from this process: they have threads and real time.
} BootPlan;

// 0, or the step that failed, which was said on stderr.
int32_t Boot(const BootPlan* plan);

// Runs once each what nearly every run does.
void WarmUp(void);

#endif  // CAISSON_GUEST_BOOT_H_
