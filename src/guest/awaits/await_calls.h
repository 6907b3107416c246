// Decides, on the tree, which tool calls are pending. `echo(1)` waits in place. If its value is
// only awaited, the call is pending instead: the request is sent to the host at once, and the host
// works on it meanwhile. A call that the tree does not show to be awaited returns a finished value,
// and awaiting that returns it. So both ways of writing work, in any mix.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter lock held.
// Lifetime  New nodes are allocated in the arena of the tree.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_CALLS_H_
#define CAISSON_GUEST_AWAITS_AWAIT_CALLS_H_

#include "guest/python.h"

// Rewrites awaited f(...) to <pending>(f)(...), for any f. Whether f is a tool is decided at run
// time, so aliases of tools work, and so do functions of the code that have a tool's name. A value
// may go through variables and collections before it is awaited, if all uses of those are followed
// (await_flow.h), and through functions of the code (await_returns.h). `tools` is the request's
// list of tools, or null. Returns 0, or -1 with a Python error set.
int RewriteAwaitedCalls(mod_ty tree, PyObject* tools, PyArena* arena);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_CALLS_H_
