// Handles the return values of functions in the code: `return f(...)`, if the caller of the
// function awaits the result.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter lock held.
// Lifetime  New nodes are allocated in the arena of the tree.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_RETURNS_H_
#define CAISSON_GUEST_AWAITS_AWAIT_RETURNS_H_

#include "guest/tree.h"

// Rewrites the return values of functions and lambdas to <returned>(f)(...), and those of async
// functions to `await <given>(<twin>(f)(...))`. Returns 0, or -1 with a Python error set.
int RewriteReturns(asdl_stmt_seq* body, PyArena* arena);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_RETURNS_H_
