// Decides, on the tree, which tool calls are awaited. `echo(1)` waits in place; where its value is
// handed to `await`, or to one of asyncio's functions that take something awaitable, the call makes
// a coroutine instead. A call that the tree does not show to be awaited has its value by then, and
// awaiting that gives it. So both ways of writing work, in any mix.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_AWAIT_CALLS_H_
#define CAISSON_GUEST_AWAIT_CALLS_H_

#include "guest/python.h"

// Once, after the interpreter has started.
int AwaitCallsStart(void);

// Rewrites awaited f(...) to <pending>(f)(...), for any f: whether it is a tool is asked when it
// runs, so aliases of tools work, and functions of the code's own that have a tool's name. 0, or -1
// with a Python error set.
int RewriteAwaitedCalls(mod_ty tree, PyArena* arena);

#endif  // CAISSON_GUEST_AWAIT_CALLS_H_
