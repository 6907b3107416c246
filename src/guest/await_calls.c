#include "guest/await_calls.h"

#include "guest/hooks.h"
#include "guest/tools.h"
#include "guest/tree.h"

static PyObject* pending_name;
static PyObject* takers;  // Functions whose arguments are awaitables, or collections of them.

static PyObject* awaitable;  // The two functions below; they have no name in the code.
static PyObject* awaitables;

static int IsScalar(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value);
}

// Something that a tool may have given. A list of tasks is none: to await that is a mistake, and
// Python says so.
static int IsAnswer(PyObject* value) {
  if (IsScalar(value) || PyDict_CheckExact(value)) return 1;
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (!IsScalar(item) && !PyDict_CheckExact(item) && !PyList_CheckExact(item) &&
        !PyTuple_CheckExact(item)) {
      return 0;
    }
  }
  return 1;
}

static PyObject* Awaitable(PyObject* Py_UNUSED(self), PyObject* value) {
  return IsAnswer(value) ? PyObject_CallOneArg(hooks.given, value) : Py_NewRef(value);
}

static PyObject* Awaitables(PyObject* self, PyObject* values) {
  PyObject* list = PySequence_List(values);
  for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
    PyObject* one = Awaitable(self, PyList_GET_ITEM(list, i));
    if (one == NULL) {
      Py_CLEAR(list);
    } else {
      PyList_SetItem(list, i, one);
    }
  }
  return list;
}

static PyMethodDef awaitable_def = {"await", Awaitable, METH_O, NULL};
static PyMethodDef awaitables_def = {"await", Awaitables, METH_O, NULL};

int AwaitCallsStart(void) {
  pending_name = PyUnicode_InternFromString(CAISSON_PENDING_NAME);
  awaitable = PyCFunction_New(&awaitable_def, NULL);
  awaitables = PyCFunction_New(&awaitables_def, NULL);
  if (awaitable == NULL || awaitables == NULL) return -1;
  PyObject* names = Py_BuildValue("[sssssss]", "gather", "create_task", "ensure_future", "wait_for",
                                  "shield", "as_completed", "run_until_complete");
  takers = names == NULL ? NULL : PyFrozenSet_New(names);
  Py_XDECREF(names);
  return pending_name == NULL || takers == NULL ? -1 : 0;
}

typedef struct AwaitPass {
  PyArena* arena;
  PyObject* awaited;  // Names whose values are awaited somewhere.
} AwaitPass;

// asyncio.<something>
static int IsOfAsyncio(expr_ty func) {
  if (func->kind != Attribute_kind) return 0;
  expr_ty owner = func->v.Attribute.value;
  return owner->kind == Name_kind && _PyUnicode_EqualToASCIIString(owner->v.Name.id, "asyncio");
}

static int TakesAwaitables(expr_ty func) {
  if (func->kind == Name_kind) return PySet_Contains(takers, func->v.Name.id);
  if (func->kind != Attribute_kind) return 0;
  int takes = PySet_Contains(takers, func->v.Attribute.attr);
  if (takes != 0) return takes;
  // Names too common to go by alone.
  return IsOfAsyncio(func) && (_PyUnicode_EqualToASCIIString(func->v.Attribute.attr, "run") ||
                               _PyUnicode_EqualToASCIIString(func->v.Attribute.attr, "wait"));
}

// f becomes <pending>(f).
static int WrapFunction(AwaitPass* pass, expr_ty* slot) {
  expr_ty func = *slot;
  asdl_expr_seq* args = _Py_asdl_expr_seq_new(1, pass->arena);
  expr_ty name = _PyAST_Name(pending_name, Load, func->lineno, func->col_offset, func->end_lineno,
                             func->end_col_offset, pass->arena);
  if (args == NULL || name == NULL) return -1;
  args->typed_elements[0] = func;
  *slot = _PyAST_Call(name, args, NULL, func->lineno, func->col_offset, func->end_lineno,
                      func->end_col_offset, pass->arena);
  return *slot == NULL ? -1 : 0;
}

static int MarkAwaited(AwaitPass* pass, expr_ty expr);

// A call whose value is awaited, or, of `list` and its like, made of what is awaited. Tools are
// not reached through attributes.
static int MarkCall(AwaitPass* pass, expr_ty call) {
  expr_ty func = call->v.Call.func;
  asdl_expr_seq* args = call->v.Call.args;
  if (func->kind == Subscript_kind) return WrapFunction(pass, &call->v.Call.func);
  if (func->kind != Name_kind) return 0;
  int takes = TakesAwaitables(func);  // What it takes is marked when the walk gets there.
  if (takes != 0) return takes < 0 ? -1 : 0;
  PyObject* name = func->v.Name.id;
  if (_PyUnicode_EqualToASCIIString(name, "map") && asdl_seq_LEN(args) >= 2) {
    return WrapFunction(pass, &args->typed_elements[0]);
  }
  int collects = _PyUnicode_EqualToASCIIString(name, "list") ||
                 _PyUnicode_EqualToASCIIString(name, "tuple") ||
                 _PyUnicode_EqualToASCIIString(name, "set");
  if (collects && asdl_seq_LEN(args) == 1) return MarkAwaited(pass, asdl_seq_GET(args, 0));
  return WrapFunction(pass, &call->v.Call.func);
}

// Makes pending what is, or what is inside of the collection that is, `expr`: its value is awaited.
static int MarkAwaited(AwaitPass* pass, expr_ty expr) {
  asdl_expr_seq* items = NULL;
  switch (expr->kind) {
    case Call_kind:
      return MarkCall(pass, expr);
    case Name_kind:
      return PySet_Add(pass->awaited, expr->v.Name.id);
    case Starred_kind:
      return MarkAwaited(pass, expr->v.Starred.value);
    case IfExp_kind:
      if (MarkAwaited(pass, expr->v.IfExp.body) < 0) return -1;
      return MarkAwaited(pass, expr->v.IfExp.orelse);
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:  // The three have one layout.
      return MarkAwaited(pass, expr->v.ListComp.elt);
    case List_kind:
      items = expr->v.List.elts;
      break;
    case Tuple_kind:
      items = expr->v.Tuple.elts;
      break;
    case Set_kind:
      items = expr->v.Set.elts;
      break;
    default:
      return 0;
  }
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    if (MarkAwaited(pass, asdl_seq_GET(items, i)) < 0) return -1;
  }
  return 0;
}

// The awaitables among what a function of asyncio takes: all that gather gets, the first of the others'. `wait` and
// as_completed take collections, of tasks for the most part. The code's own functions get what they were given,
// whatever they are called.
static int WrapTaken(AwaitPass* pass, expr_ty call) {
  expr_ty func = call->v.Call.func;
  if (!IsOfAsyncio(func)) return 0;
  PyObject* name = func->v.Attribute.attr;
  if (_PyUnicode_EqualToASCIIString(name, "wait") ||
      _PyUnicode_EqualToASCIIString(name, "as_completed")) {
    return 0;
  }
  asdl_expr_seq* args = call->v.Call.args;
  Py_ssize_t count = asdl_seq_LEN(args);
  if (count > 1 && !_PyUnicode_EqualToASCIIString(name, "gather")) count = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    int status = arg->kind == Starred_kind
                     ? WrapInCall(&arg->v.Starred.value, awaitables, pass->arena)
                     : WrapInCall(&args->typed_elements[i], awaitable, pass->arena);
    if (status < 0) return -1;
  }
  return 0;
}

static int FindAwaited(TreeVisitor* visitor, expr_ty* slot) {
  AwaitPass* pass = visitor->state;
  expr_ty expr = *slot;
  if (expr->kind == Await_kind) {
    int failed = MarkAwaited(pass, expr->v.Await.value) < 0 ||
                 WrapInCall(&expr->v.Await.value, awaitable, pass->arena) < 0;
    return failed ? kVisitFailed : kVisitChildren;
  }
  if (expr->kind != Call_kind) return kVisitChildren;
  int takes = TakesAwaitables(expr->v.Call.func);
  if (takes <= 0) return takes < 0 ? kVisitFailed : kVisitChildren;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(expr->v.Call.args); i++) {
    if (MarkAwaited(pass, asdl_seq_GET(expr->v.Call.args, i)) < 0) return kVisitFailed;
  }
  return WrapTaken(pass, expr) < 0 ? kVisitFailed : kVisitChildren;
}

// `tasks = [echo(i) for i in ...]` before `await gather(*tasks)`.
static int MarkAssigned(TreeVisitor* visitor, stmt_ty* slot) {
  AwaitPass* pass = visitor->state;
  stmt_ty stmt = *slot;
  if (stmt->kind != Assign_kind || asdl_seq_LEN(stmt->v.Assign.targets) != 1) return kVisitChildren;
  expr_ty target = asdl_seq_GET(stmt->v.Assign.targets, 0);
  if (target->kind != Name_kind) return kVisitChildren;
  int awaited = PySet_Contains(pass->awaited, target->v.Name.id);
  if (awaited > 0) awaited = MarkAwaited(pass, stmt->v.Assign.value);
  return awaited < 0 ? kVisitFailed : kVisitChildren;
}

// `tasks.append(echo(i))` before `await gather(*tasks)`.
static int MarkAppended(TreeVisitor* visitor, expr_ty* slot) {
  AwaitPass* pass = visitor->state;
  expr_ty expr = *slot;
  if (expr->kind != Call_kind || expr->v.Call.func->kind != Attribute_kind ||
      asdl_seq_LEN(expr->v.Call.args) != 1) {
    return kVisitChildren;
  }
  expr_ty func = expr->v.Call.func;
  if (func->v.Attribute.value->kind != Name_kind ||
      !_PyUnicode_EqualToASCIIString(func->v.Attribute.attr, "append")) {
    return kVisitChildren;
  }
  int awaited = PySet_Contains(pass->awaited, func->v.Attribute.value->v.Name.id);
  if (awaited > 0) awaited = MarkAwaited(pass, asdl_seq_GET(expr->v.Call.args, 0));
  return awaited < 0 ? kVisitFailed : kVisitChildren;
}

int RewriteAwaitedCalls(mod_ty tree, PyArena* arena) {
  AwaitPass pass = {.arena = arena, .awaited = PySet_New(NULL)};
  if (pass.awaited == NULL) return -1;
  TreeVisitor direct = {.expr = FindAwaited, .state = &pass};
  TreeVisitor indirect = {.stmt = MarkAssigned, .expr = MarkAppended, .state = &pass};
  int status = VisitStmts(&direct, tree->v.Module.body);
  if (status == 0 && PySet_GET_SIZE(pass.awaited) > 0) {
    status = VisitStmts(&indirect, tree->v.Module.body);
  }
  Py_DECREF(pass.awaited);
  return status;
}
