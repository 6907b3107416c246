#include "guest/awaits/await_returns.h"

#include "guest/awaits/awaiting.h"

static int RewriteCall(expr_ty call, PyObject* wrapper, PyArena* arena) {
  expr_ty* func = &call->v.Call.func;
  return MayBeTool(*func) ? WrapInCall(func, wrapper, arena) : 0;
}

// In an async function the value is awaited.
static int RewriteReturn(stmt_ty stmt, int is_async, PyArena* arena) {
  expr_ty call = stmt->v.Return.value;
  if (call == NULL || call->kind != Call_kind || !MayBeTool(call->v.Call.func)) return 0;
  if (!is_async) return RewriteCall(call, awaiting.returned, arena);
  expr_ty* value = &stmt->v.Return.value;
  if (RewriteCall(call, awaiting.twin, arena) < 0 || WrapInCall(value, awaiting.given, arena) < 0) {
    return -1;
  }
  *value = _PyAST_Await(*value, call->lineno, call->col_offset, call->end_lineno,
                        call->end_col_offset, arena);
  return *value == NULL ? -1 : 0;
}

// Only where nothing happens between the call and the end of the function: not inside a statement
// that catches errors or holds a resource.
static int RewriteBlock(asdl_stmt_seq* block, int is_async, PyArena* arena) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(block); i++) {
    stmt_ty stmt = asdl_seq_GET(block, i);
    int failed = 0;
    if (stmt->kind == Return_kind) failed = RewriteReturn(stmt, is_async, arena);
    if (stmt->kind == If_kind) {
      failed = RewriteBlock(stmt->v.If.body, is_async, arena) < 0 ||
               RewriteBlock(stmt->v.If.orelse, is_async, arena) < 0;
    }
    if (stmt->kind == For_kind || stmt->kind == AsyncFor_kind) {
      failed = RewriteBlock(stmt->v.For.body, is_async, arena);
    }
    if (stmt->kind == AsyncWith_kind) {
      failed = RewriteBlock(stmt->v.AsyncWith.body, is_async, arena);
    }
    if (failed) return -1;
  }
  return 0;
}

static int VisitFunction(TreeVisitor* visitor, stmt_ty* slot) {
  stmt_ty stmt = *slot;
  if (stmt->kind != FunctionDef_kind && stmt->kind != AsyncFunctionDef_kind) return kVisitChildren;
  int is_async = stmt->kind == AsyncFunctionDef_kind;  // Both kinds have the same layout.
  return RewriteBlock(stmt->v.FunctionDef.body, is_async, visitor->state) < 0 ? kVisitFailed
                                                                              : kVisitChildren;
}

static int VisitLambda(TreeVisitor* visitor, expr_ty* slot) {
  if ((*slot)->kind != Lambda_kind) return kVisitChildren;
  expr_ty body = (*slot)->v.Lambda.body;
  if (body->kind != Call_kind) return kVisitChildren;
  return RewriteCall(body, awaiting.returned, visitor->state) < 0 ? kVisitFailed : kVisitChildren;
}

int RewriteReturns(asdl_stmt_seq* body, PyArena* arena) {
  TreeVisitor visitor = {.stmt = VisitFunction, .expr = VisitLambda, .state = arena};
  return VisitStmts(&visitor, body);
}
