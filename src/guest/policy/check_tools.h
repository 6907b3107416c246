// Checks calls of the host's tools in a tree against the parameters of the tools: arguments that
// are unknown, missing, given twice, or literals of the wrong type. Everything that cannot be
// decided is left to the host, which checks every call again.
//
// Trust     The tree is hostile. This check only helps its author.
// Threads   With the interpreter lock held.
// Lifetime  Nothing is kept.
#ifndef CAISSON_GUEST_POLICY_CHECK_TOOLS_H_
#define CAISSON_GUEST_POLICY_CHECK_TOOLS_H_

#include "guest/policy/findings.h"

// `tools` is the request's list, or null. Returns 0, or -1 with a Python error set.
int CheckToolCalls(mod_ty tree, PyObject* tools, Findings* findings);

#endif  // CAISSON_GUEST_POLICY_CHECK_TOOLS_H_
