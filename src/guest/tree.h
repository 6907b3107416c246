// Walks the parser's tree. Every pass over it (result_tree.c, await_calls.c, the policy's) is a few
// callbacks for this one walker, so that none can forget a kind of node.
//
// Trust     The tree is as hostile as the code it was parsed from: left-recursive chains
//           (a.b.c.d...) can be far deeper than the parser's own stack, so the depth is bounded.
// Threads   With the interpreter's lock held.
// Lifetime  Nodes belong to the arena they were parsed into.
#ifndef CAISSON_GUEST_TREE_H_
#define CAISSON_GUEST_TREE_H_

#include "guest/python.h"

enum {
  kVisitFailed = -1,  // Stop; a Python error is set.
  kVisitChildren = 0,
  kVisitSkip = 1,  // Leave out what is below this node.
};

// What has names of its own besides the module.
typedef enum ScopeKind {
  kModuleScope,
  kFunctionScope,  // A lambda too.
  kClassScope,
  kComprehensionScope,
} ScopeKind;

// Callbacks may be null. They get the slot a node sits in, and may put another node there, whose
// children are then visited.
typedef struct TreeVisitor {
  int (*stmt)(struct TreeVisitor* visitor, stmt_ty* slot);
  int (*expr)(struct TreeVisitor* visitor, expr_ty* slot);
  int (*pattern)(struct TreeVisitor* visitor, pattern_ty pattern);
  // A name that is bound by something other than a Name expression: def, class, import, except,
  // a match pattern, a parameter.
  int (*bind)(struct TreeVisitor* visitor, PyObject* name);
  // Around what is evaluated inside of the scope that `node` makes: decorators, defaults and
  // annotations come before, with the first iterable of a comprehension.
  int (*open)(struct TreeVisitor* visitor, ScopeKind kind, const void* node);
  void (*close)(struct TreeVisitor* visitor);
  void* state;
  asdl_stmt_seq* block;  // The statements that the one being visited is among.
  int annotations;       // How many annotations the expression being visited is inside of.
  int depth;
} TreeVisitor;

// As deep as CPython's own compiler goes, in its default configuration.
#define CAISSON_MAX_TREE_DEPTH 3000

// 0, or -1 with a Python error set.
int VisitStmts(TreeVisitor* visitor, asdl_stmt_seq* statements);
int VisitExpr(TreeVisitor* visitor, expr_ty* slot);

// Puts <function>(value) in the place of `value`. The function is a constant of the tree, which may be any object: the
// code finds it under no name. It lives as long as the interpreter. 0, or -1 with a Python error set.
int WrapInCall(expr_ty* value, PyObject* function, PyArena* arena);

#endif  // CAISSON_GUEST_TREE_H_
