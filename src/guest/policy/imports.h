// Finds out which modules a piece of code imports, and which of those this interpreter lacks, from
// the tree, before anything runs.
//
// Trust     The tree is hostile. Looking for a module does not import it.
// Threads   With the interpreter lock held.
// Lifetime  An Imports owns its collections until ImportsRelease.
#ifndef CAISSON_GUEST_POLICY_IMPORTS_H_
#define CAISSON_GUEST_POLICY_IMPORTS_H_

#include "guest/policy/findings.h"

typedef struct Imports {
  PyObject* names;   // List: top-level names, in the order of the source, once each.
  PyObject* native;  // List: those that this interpreter lacks and engine `native` has.
  PyObject* absent;  // Set: those that neither engine has.
} Imports;

typedef struct ImportOptions {
  PyObject* native_packages;  // Borrowed: list of str, or null.
  // An import that neither engine has is a finding, unless the code catches its failure.
  int refuse_absent;
  int by_call;  // importlib.import_module("x") and __import__("x") count as imports.
} ImportOptions;

// Returns 0, or -1 with a Python error set.
int ImportsFind(Imports* imports, mod_ty tree, const ImportOptions* options, Findings* findings);
void ImportsRelease(Imports* imports);

#endif  // CAISSON_GUEST_POLICY_IMPORTS_H_
