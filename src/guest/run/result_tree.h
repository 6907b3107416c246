// Makes the value of a piece of code available: that of its last expression, or of a top-level
// return.
//
// Trust     The tree is hostile; see tree.h. Code cannot spell the names used here.
// Threads   With the interpreter lock held.
// Lifetime  New nodes are allocated in the arena of the tree.
#ifndef CAISSON_GUEST_RUN_RESULT_TREE_H_
#define CAISSON_GUEST_RUN_RESULT_TREE_H_

#include "guest/python.h"

typedef enum TreeShape {
  // The module stores the value of its last expression, if it has one, under result_name.
  kModuleShape,
  // The module only defines a function called body_name, whose return value is the result: the code
  // has a top-level return. The names that it binds are global, as they would be without the
  // function.
  kFunctionShape,
} TreeShape;

extern PyObject* result_name;
extern PyObject* body_name;

// Call once, after the interpreter has started.
int ResultTreeStart(void);

// Rewrites `tree`. Returns 0, or -1 with a Python error set (SyntaxError for code that cannot be
// combined with a top-level return).
int RewriteForResult(mod_ty tree, PyObject* file, PyArena* arena, TreeShape* shape);

#endif  // CAISSON_GUEST_RUN_RESULT_TREE_H_
