#include "guest/run/result_tree.h"

#include "guest/tree.h"

PyObject* result_name;
PyObject* body_name;

int ResultTreeStart(void) {
  result_name = PyUnicode_InternFromString("<result>");
  body_name = PyUnicode_InternFromString("<module>");  // The name that tracebacks show.
  return result_name == NULL || body_name == NULL ? -1 : 0;
}

#define POSITION(node) \
  (node)->lineno, (node)->col_offset, (node)->end_lineno, (node)->end_col_offset

// `x` as a last statement becomes `<result> = x`.
static int StoreLastExpression(asdl_stmt_seq* body, PyArena* arena) {
  Py_ssize_t count = asdl_seq_LEN(body);
  stmt_ty last = count == 0 ? NULL : asdl_seq_GET(body, count - 1);
  if (last == NULL || last->kind != Expr_kind) return 0;
  asdl_expr_seq* targets = _Py_asdl_expr_seq_new(1, arena);
  if (targets == NULL) return -1;
  targets->typed_elements[0] = _PyAST_Name(result_name, Store, POSITION(last), arena);
  if (targets->typed_elements[0] == NULL) return -1;
  stmt_ty assign = _PyAST_Assign(targets, last->v.Expr.value, NULL, POSITION(last), arena);
  if (assign == NULL) return -1;
  body->typed_elements[count - 1] = assign;
  return 0;
}

// The code outside of functions and classes.
typedef struct TopLevel {
  PyObject* file;
  PyArena* arena;
  PyObject* names;  // Set of the names it binds.
  int returns;
  int awaits;
} TopLevel;

static int SyntaxErrorAt(PyObject* file, int line, int column, const char* message) {
  PyErr_SetString(PyExc_SyntaxError, message);
  PyErr_SyntaxLocationObject(file, line, column + 1);
  return -1;
}

static int FindReturn(TreeVisitor* visitor, stmt_ty* slot) {
  switch ((*slot)->kind) {
    case Return_kind:
      ((TopLevel*)visitor->state)->returns = 1;
      return kVisitSkip;
    case FunctionDef_kind:
    case AsyncFunctionDef_kind:
    case ClassDef_kind:
      return kVisitSkip;
    default:
      return kVisitChildren;
  }
}

static int SkipExpr(TreeVisitor* Py_UNUSED(visitor), expr_ty* Py_UNUSED(slot)) {
  return kVisitSkip;
}

// A global cannot be annotated in a function, so `x: int = 1` becomes `x = 1`.
static int DropAnnotation(TopLevel* top, stmt_ty* slot) {
  stmt_ty stmt = *slot;
  if (stmt->v.AnnAssign.target->kind != Name_kind) return 0;
  if (stmt->v.AnnAssign.value == NULL) {
    *slot = _PyAST_Pass(POSITION(stmt), top->arena);
  } else {
    asdl_expr_seq* targets = _Py_asdl_expr_seq_new(1, top->arena);
    if (targets == NULL) return -1;
    targets->typed_elements[0] = stmt->v.AnnAssign.target;
    *slot = _PyAST_Assign(targets, stmt->v.AnnAssign.value, NULL, POSITION(stmt), top->arena);
  }
  return *slot == NULL ? -1 : 0;
}

static int CollectStmt(TreeVisitor* visitor, stmt_ty* slot) {
  TopLevel* top = visitor->state;
  stmt_ty stmt = *slot;
  switch (stmt->kind) {
    case FunctionDef_kind:
    case AsyncFunctionDef_kind:
    case ClassDef_kind:
      return kVisitSkip;
    case AsyncFor_kind:
    case AsyncWith_kind:
      top->awaits = 1;
      return kVisitChildren;
    case AnnAssign_kind:
      return DropAnnotation(top, slot) < 0 ? kVisitFailed : kVisitChildren;
    case ImportFrom_kind: {
      alias_ty first = asdl_seq_GET(stmt->v.ImportFrom.names, 0);
      if (!_PyUnicode_EqualToASCIIString(first->name, "*")) return kVisitChildren;
      return SyntaxErrorAt(top->file, stmt->lineno, stmt->col_offset,
                           "'import *' cannot be used in code that has a top-level 'return'");
    }
    default:
      return kVisitChildren;
  }
}

static int IsAsyncComprehension(asdl_comprehension_seq* generators) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(generators); i++) {
    if (asdl_seq_GET(generators, i)->is_async) return 1;
  }
  return 0;
}

static int CollectExpr(TreeVisitor* visitor, expr_ty* slot) {
  TopLevel* top = visitor->state;
  expr_ty expr = *slot;
  switch (expr->kind) {
    case Lambda_kind:
      return kVisitSkip;
    case Await_kind:
      top->awaits = 1;
      return kVisitChildren;
    case ListComp_kind:
    case SetComp_kind:
      if (IsAsyncComprehension(expr->v.ListComp.generators)) top->awaits = 1;
      return kVisitChildren;
    case DictComp_kind:
      if (IsAsyncComprehension(expr->v.DictComp.generators)) top->awaits = 1;
      return kVisitChildren;
    case Yield_kind:
    case YieldFrom_kind:
      return SyntaxErrorAt(top->file, expr->lineno, expr->col_offset, "'yield' outside function");
    case Name_kind:
      if (expr->v.Name.ctx == Load) return kVisitChildren;
      return PySet_Add(top->names, expr->v.Name.id) < 0 ? kVisitFailed : kVisitChildren;
    default:
      return kVisitChildren;
  }
}

static int CollectName(TreeVisitor* visitor, PyObject* name) {
  PyObject* interned = Py_NewRef(name);
  PyUnicode_InternInPlace(&interned);
  int status = PySet_Add(((TopLevel*)visitor->state)->names, interned);
  Py_DECREF(interned);
  return status;
}

// `global` for all names that the code binds.
static stmt_ty MakeGlobal(TopLevel* top) {
  PyObject* list = PySequence_List(top->names);
  if (list == NULL) return NULL;
  if (_PyArena_AddPyObject(top->arena, list) < 0) {
    Py_DECREF(list);
    return NULL;
  }
  Py_ssize_t count = PyList_GET_SIZE(list);
  asdl_identifier_seq* names = _Py_asdl_identifier_seq_new(count, top->arena);
  if (names == NULL) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) names->typed_elements[i] = PyList_GET_ITEM(list, i);
  return _PyAST_Global(names, 1, 0, 1, 0, top->arena);
}

// Returns how many statements must stay at the top of the module: a docstring and `from
// __future__`.
static Py_ssize_t CountPrologue(asdl_stmt_seq* body) {
  Py_ssize_t prologue = 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++) {
    stmt_ty stmt = asdl_seq_GET(body, i);
    int docstring = i == 0 && stmt->kind == Expr_kind && stmt->v.Expr.value->kind == Constant_kind;
    int future = stmt->kind == ImportFrom_kind && stmt->v.ImportFrom.level == 0 &&
                 stmt->v.ImportFrom.module != NULL &&
                 _PyUnicode_EqualToASCIIString(stmt->v.ImportFrom.module, "__future__");
    if (future) prologue = i + 1;
    if (!docstring && !future) break;
  }
  return prologue;
}

static int WrapInFunction(mod_ty tree, TopLevel* top) {
  asdl_stmt_seq* body = tree->v.Module.body;
  Py_ssize_t prologue = CountPrologue(body), count = asdl_seq_LEN(body);
  Py_ssize_t has_names = PySet_GET_SIZE(top->names) > 0;
  asdl_stmt_seq* inner = _Py_asdl_stmt_seq_new(count - prologue + has_names, top->arena);
  asdl_stmt_seq* outer = _Py_asdl_stmt_seq_new(prologue + 1, top->arena);
  arguments_ty none = _PyAST_arguments(NULL, NULL, NULL, NULL, NULL, NULL, NULL, top->arena);
  if (inner == NULL || outer == NULL || none == NULL) return -1;
  if (has_names && (inner->typed_elements[0] = MakeGlobal(top)) == NULL) return -1;
  for (Py_ssize_t i = 0; i < prologue; i++) outer->typed_elements[i] = asdl_seq_GET(body, i);
  for (Py_ssize_t i = prologue; i < count; i++) {
    inner->typed_elements[i - prologue + has_names] = asdl_seq_GET(body, i);
  }
  stmt_ty* last = &inner->typed_elements[count - prologue + has_names - 1];
  if ((*last)->kind == Expr_kind) {
    *last = _PyAST_Return((*last)->v.Expr.value, POSITION(*last), top->arena);
    if (*last == NULL) return -1;
  }
  stmt_ty function = top->awaits ? _PyAST_AsyncFunctionDef(body_name, none, inner, NULL, NULL, NULL,
                                                           1, 0, 1, 0, top->arena)
                                 : _PyAST_FunctionDef(body_name, none, inner, NULL, NULL, NULL, 1,
                                                      0, 1, 0, top->arena);
  if (function == NULL) return -1;
  outer->typed_elements[prologue] = function;
  tree->v.Module.body = outer;
  return 0;
}

int RewriteForResult(mod_ty tree, PyObject* file, PyArena* arena, TreeShape* shape) {
  TopLevel top = {.file = file, .arena = arena};
  TreeVisitor finder = {.stmt = FindReturn, .expr = SkipExpr, .state = &top};
  if (VisitStmts(&finder, tree->v.Module.body) < 0) return -1;
  *shape = top.returns ? kFunctionShape : kModuleShape;
  if (!top.returns) return StoreLastExpression(tree->v.Module.body, arena);

  top.names = PySet_New(NULL);
  if (top.names == NULL) return -1;
  TreeVisitor collector = {
      .stmt = CollectStmt, .expr = CollectExpr, .bind = CollectName, .state = &top};
  int status = VisitStmts(&collector, tree->v.Module.body);
  if (status == 0) status = WrapInFunction(tree, &top);
  Py_DECREF(top.names);
  return status;
}
