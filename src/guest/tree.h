// Walks the parser's tree. Every pass over it (result_tree.c, await_calls.c, the policy's) consists
// of a few callbacks for this one walker, so that none can forget a kind of node.
//
// Trust     The tree is as hostile as the code it was parsed from. Left-recursive chains
//           (a.b.c.d...) can be far deeper than the parser's own stack, so the depth is bounded.
// Threads   With the interpreter lock held.
// Lifetime  Nodes belong to the arena they were parsed into.
#ifndef CAISSON_GUEST_TREE_H_
#define CAISSON_GUEST_TREE_H_

#include "guest/python.h"

enum {
  kVisitFailed = -1,  // Stop; a Python error is set.
  kVisitChildren = 0,
  kVisitSkip = 1,  // Do not visit the children of this node.
};

// Things besides the module that have their own names.
typedef enum ScopeKind {
  kModuleScope,
  kFunctionScope,  // Also a lambda.
  kClassScope,
  kComprehensionScope,
} ScopeKind;

// Callbacks may be null. They get the slot that holds a node, and may put another node there, whose
// children are then visited.
typedef struct TreeVisitor {
  int (*stmt)(struct TreeVisitor* visitor, stmt_ty* slot);
  int (*expr)(struct TreeVisitor* visitor, expr_ty* slot);
  int (*pattern)(struct TreeVisitor* visitor, pattern_ty pattern);
  // Called for a name that is bound by something other than a Name expression: def, class, import,
  // except, a match pattern, a parameter.
  int (*bind)(struct TreeVisitor* visitor, PyObject* name);
  // Called around everything that is evaluated inside the scope that `node` makes. Decorators,
  // defaults, annotations and the first iterable of a comprehension come before.
  int (*open)(struct TreeVisitor* visitor, ScopeKind kind, const void* node);
  void (*close)(struct TreeVisitor* visitor);
  void* state;
  asdl_stmt_seq* block;  // The statements that contain the visited one.
  int annotations;       // The number of annotations around the visited expression.
  int depth;
} TreeVisitor;

// The depth that CPython's own compiler supports in its default configuration.
#define CAISSON_MAX_TREE_DEPTH 3000

// Returns 0, or -1 with a Python error set.
int VisitStmts(TreeVisitor* visitor, asdl_stmt_seq* statements);
int VisitExpr(TreeVisitor* visitor, expr_ty* slot);

// Replaces `value` by <function>(value). The function is a constant of the tree, which may be any
// object: the code has no name for it. It lives as long as the interpreter. Returns 0, or -1 with a
// Python error set.
int WrapInCall(expr_ty* value, PyObject* function, PyArena* arena);

#endif  // CAISSON_GUEST_TREE_H_
