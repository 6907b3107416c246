// Follows values through a piece of code, from where they are awaited back to where they are made.
//
// Trust     The tree is hostile; see tree.h. What takes too long to follow is left as it is.
// Threads   With the interpreter's lock held.
// Lifetime  Marks point into the tree. ReleaseMarks frees the list of them.
#ifndef CAISSON_GUEST_AWAIT_FLOW_H_
#define CAISSON_GUEST_AWAIT_FLOW_H_

#include "guest/await_scopes.h"

// `function` (of awaiting.h) is to be called with what the slot gives.
typedef struct Mark {
  expr_ty* slot;
  PyObject* function;  // Borrowed.
} Mark;

typedef struct Marks {
  Mark* first;
  size_t count, room;
} Marks;

// Finds what is to be rewritten, in `marks`, which starts empty. The tree stays as it is. 0, or -1 with a
// Python error set.
int FindAwaited(Variables* variables, asdl_stmt_seq* body, Marks* marks);
void ReleaseMarks(Marks* marks);

#endif  // CAISSON_GUEST_AWAIT_FLOW_H_
