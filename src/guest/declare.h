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

#endif  // CAISSON_GUEST_DECLARE_H_
