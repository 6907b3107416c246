// What functions of the code return: `return f(...)`, if whoever called the function awaits that.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_AWAIT_RETURNS_H_
#define CAISSON_GUEST_AWAIT_RETURNS_H_

#include "guest/tree.h"

// Rewrites what functions and lambdas return to <returned>(f)(...), and what async functions do, to
// `await <given>(<twin>(f)(...))`. 0, or -1 with a Python error set.
int RewriteReturns(asdl_stmt_seq* body, PyArena* arena);

#endif  // CAISSON_GUEST_AWAIT_RETURNS_H_
