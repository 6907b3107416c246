// The policy's first pass: which names the code binds, and to what.
//
// Trust     The tree is hostile.
// Threads   With the interpreter's lock held.
// Lifetime  Everything goes into the tree's arena.
#ifndef CAISSON_GUEST_DECLARE_H_
#define CAISSON_GUEST_DECLARE_H_

#include "guest/modules.h"
#include "guest/names.h"

// 0, or -1 with a Python error set.
int DeclareNames(Names* names, ModulePolicy* policy, asdl_stmt_seq* body);

// The text that literals joined by + and * make, as far as fields of str.format go: a text that is
// repeated is there twice, so that all that can stand side by side does. Borrowed from the arena; null
// if it is no such text, or with a Python error set.
PyObject* LiteralTextOf(expr_ty expr, PyArena* arena);

#endif  // CAISSON_GUEST_DECLARE_H_
