// Checks the calls of the host's tools in a tree against what the tools take: arguments that are
// unknown, missing, given twice, or literals of the wrong type. What cannot be told is left to the
// host, which checks every call again.
//
// Trust     The tree is hostile; this is help for its author.
// Threads   With the interpreter's lock held.
// Lifetime  Nothing is kept.
#ifndef CAISSON_GUEST_CHECK_TOOLS_H_
#define CAISSON_GUEST_CHECK_TOOLS_H_

#include "guest/findings.h"

// `tools` is the request's list, or null. 0, or -1 with a Python error set.
int CheckToolCalls(mod_ty tree, PyObject* tools, Findings* findings);

#endif  // CAISSON_GUEST_CHECK_TOOLS_H_
