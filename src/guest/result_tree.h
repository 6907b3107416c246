// Makes the value of a piece of code reachable: of its last expression, or of a top-level return.
//
// Trust     The tree is hostile; see tree.h. The names used here cannot be written in code.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_RESULT_TREE_H_
#define CAISSON_GUEST_RESULT_TREE_H_

#include "guest/python.h"

typedef enum TreeShape {
  // The module stores the value of its last expression under result_name, if it has one.
  kModuleShape,
  // The module only defines a function called body_name, whose value is the result: the code has
  // a top-level return. Names it binds are global, as they would be without it.
  kFunctionShape,
} TreeShape;

extern PyObject* result_name;
extern PyObject* body_name;

// Once, after the interpreter has started.
int ResultTreeStart(void);

// Rewrites `tree`. 0, or -1 with a Python error set (SyntaxError for what cannot be combined with a
// top-level return).
int RewriteForResult(mod_ty tree, PyObject* file, PyArena* arena, TreeShape* shape);

#endif  // CAISSON_GUEST_RESULT_TREE_H_
