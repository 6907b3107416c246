// Under the strict policy, x.__dict__ is asked for by a function of ours. What an object of the code's own
// holds is shown; what modules and Python's own classes hold, which is all that the check keeps away
// from, is not. Only while it runs can be told which of them x is.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_OWN_DICT_H_
#define CAISSON_GUEST_OWN_DICT_H_

#include "guest/python.h"

// Once, after the interpreter has started.
int OwnDictStart(void);

// Rewrites x.__dict__, where it is read, to <own dict>(x). 0, or -1 with a Python error set.
int RewriteDicts(mod_ty tree, PyArena* arena);

#endif  // CAISSON_GUEST_OWN_DICT_H_
