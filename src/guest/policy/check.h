// The check of the strict policy: finds everything that the policy refuses in a tree, before
// anything runs (I7).
//
// Modules, and the few functions that access attributes by name, are never values: they are used
// directly (`json.dumps(x)`), or not at all. So no container, argument, loop or closure can carry
// one to a place where the check would not recognise it. Builtins that are not allowed cannot even
// be named.
//
// Trust     The tree is hostile. None of the code runs here.
// Threads   With the interpreter lock held.
// Lifetime  The caller owns the findings; the rest is freed with the tree's arena.
#ifndef CAISSON_GUEST_POLICY_CHECK_H_
#define CAISSON_GUEST_POLICY_CHECK_H_

#include "guest/policy/findings.h"
#include "guest/policy/modules.h"

typedef struct CheckOptions {
  ModulePolicy modules;
  PyObject* tools;    // Borrowed: list of the host's tools, or null.
  PyObject* imports;  // Borrowed: list of the top-level modules that the code imports, or null.
  // Borrowed: set of modules that do not exist here; imports.h has reported them.
  PyObject* absent;
} CheckOptions;

// Adds its findings to `findings`. Returns 0, or -1 with a Python error set; the code is refused
// then too.
int CheckTree(mod_ty tree, const CheckOptions* options, Findings* findings);

int CheckStart(void);

#endif  // CAISSON_GUEST_POLICY_CHECK_H_
