// Follows values through a piece of code, from where they are awaited back to where they are made.
//
// Trust     The tree is hostile; see tree.h. Values that take too long to follow are left
//           unchanged.
// Threads   With the interpreter lock held.
// Lifetime  Marks point into the tree. ReleaseMarks frees the list of them.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_FLOW_H_
#define CAISSON_GUEST_AWAITS_AWAIT_FLOW_H_

#include "guest/awaits/await_scopes.h"

// `function` (of awaiting.h) will be called with the value of the slot.
typedef struct Mark {
  expr_ty* slot;
  PyObject* function;  // Borrowed.
} Mark;

typedef struct Marks {
  Mark* first;
  size_t count, room;
} Marks;

// Finds the places to rewrite and adds them to `marks`, which starts empty. Does not change the
// tree. Returns 0, or -1 with a Python error set.
int FindAwaited(Variables* variables, asdl_stmt_seq* body, Marks* marks);
void ReleaseMarks(Marks* marks);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_FLOW_H_
