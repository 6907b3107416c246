// The policy's check: what the strict policy refuses in a tree, all of it, before anything runs (I7).
//
// Modules, and the few functions that reach attributes by name, are never values: they are used
// where they stand (`json.dumps(x)`), or not at all. So no container, argument, loop or closure
// can carry one to a place where the check would not know it. Builtins that are not allowed cannot
// even be named.
//
// Trust     The tree is hostile, and nothing of the code runs here.
// Threads   With the interpreter's lock held.
// Lifetime  What is found is the caller's; the rest goes with the tree's arena.
#ifndef CAISSON_GUEST_CHECK_H_
#define CAISSON_GUEST_CHECK_H_

#include "guest/findings.h"
#include "guest/modules.h"

typedef struct CheckOptions {
  ModulePolicy modules;
  PyObject* tools;    // Borrowed: list of the host's tools, or null.
  PyObject* imports;  // Borrowed: list of the top-level modules that the code imports, or null.
  PyObject* absent;   // Borrowed: set of modules that do not exist here; imports.h has judged them.
} CheckOptions;

// Adds what it finds to `findings`. 0, or -1 with a Python error set: the code is refused too.
int CheckTree(mod_ty tree, const CheckOptions* options, Findings* findings);

int CheckStart(void);

#endif  // CAISSON_GUEST_CHECK_H_
