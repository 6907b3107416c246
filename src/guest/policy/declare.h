// The first pass of the policy: finds which names the code binds, and to what.
//
// Trust     The tree is hostile.
// Threads   With the interpreter lock held.
// Lifetime  Everything is allocated in the tree's arena.
#ifndef CAISSON_GUEST_POLICY_DECLARE_H_
#define CAISSON_GUEST_POLICY_DECLARE_H_

#include "guest/policy/modules.h"
#include "guest/policy/names.h"

// Returns 0, or -1 with a Python error set.
int DeclareNames(Names* names, ModulePolicy* policy, asdl_stmt_seq* body);

// Returns the text that literals joined by + and * make, as far as it matters for the fields of
// str.format: a repeated text appears twice, so that everything that can stand side by side does.
// Borrowed from the arena. Null if it is not such a text, or with a Python error set.
PyObject* LiteralTextOf(expr_ty expr, PyArena* arena);

#endif  // CAISSON_GUEST_POLICY_DECLARE_H_
