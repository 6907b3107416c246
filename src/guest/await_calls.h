// Decides, on the tree, which tool calls are pending. `echo(1)` waits in place; where its value is
// awaited and nothing else, it is pending instead: the host is asked at once, and answers meanwhile.
// A call that the tree does not show to be awaited has its value by then, and awaiting that gives
// it. So both ways of writing work, in any mix.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_AWAIT_CALLS_H_
#define CAISSON_GUEST_AWAIT_CALLS_H_

#include "guest/python.h"

// Rewrites awaited f(...) to <pending>(f)(...), for any f: whether it is a tool is asked when it
// runs, so aliases of tools work, and functions of the code's own that have a tool's name. A value
// may go through variables and collections before it is awaited, if all that happens to those is
// followed (await_flow.h), and through functions of the code's own (await_returns.h). `tools` is the
// request's list of them, or null. 0, or -1 with a Python error set.
int RewriteAwaitedCalls(mod_ty tree, PyObject* tools, PyArena* arena);

#endif  // CAISSON_GUEST_AWAIT_CALLS_H_
