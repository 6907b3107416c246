#include "guest/await_calls.h"

#include "guest/awaiting.h"
#include "guest/tree.h"

// What becomes of a value. Numbers from 0 on: it is awaited (0), or is a collection, of what is
// awaited (1), of such collections (2).
enum { kNothing = -1, kAwaited = 0, kDeepest = 2, kAnything = 3 };

enum { kMaxPasses = 12, kMaxFollowed = 100 };

// The names that a scope binds, each with what becomes of its values: level[name].
typedef struct Names {
  PyObject* level;
  ScopeKind kind;
  struct Names* outer;
} Names;

typedef struct AwaitPass {
  PyArena* arena;
  PyObject* scopes;    // The `level` of each scope, by the address of its node.
  PyObject* followed;  // Addresses of the uses of names that something follows, in this pass.
  PyObject* shared;    // Names that `global` and `nonlocal` take from scope to scope.
  Names* names;
  int loses_track;  // The code looks at its variables in other ways than by their names.
  int changed;
  int settled;   // All is known: what nothing is known of may be used for anything.
  int rewrites;  // The last pass.
  int depth;
} AwaitPass;

static PyObject* takers;   // Functions that take what is awaitable.
static PyObject* lookers;  // Functions that reach variables.

static PyObject* SetOf(const char* const* words) {
  PyObject* set = PySet_New(NULL);
  for (; set != NULL && *words != NULL; words++) {
    PyObject* word = PyUnicode_InternFromString(*words);
    if (word == NULL || PySet_Add(set, word) < 0) Py_CLEAR(set);
    Py_XDECREF(word);
  }
  return set;
}

int AwaitCallsStart(void) {
  takers = SetOf((const char* const[]){"gather", "create_task", "ensure_future", "wait_for",
                                       "shield", "as_completed", "run_until_complete", NULL});
  lookers = SetOf((const char* const[]){"globals", "locals", "vars", "eval", "exec", NULL});
  return takers == NULL || lookers == NULL ? -1 : 0;
}

static int IsWord(PyObject* name, const char* word) {
  return _PyUnicode_EqualToASCIIString(name, word);
}

static int IsAny(PyObject* name, const char* const* words) {
  while (*words != NULL && !IsWord(name, *words)) words++;
  return *words != NULL;
}

// Scopes.

static Names* NamesOf(AwaitPass* pass, ScopeKind kind, const void* node) {
  PyObject* key = PyLong_FromVoidPtr((void*)node);
  if (key == NULL) return NULL;
  PyObject* level = PyDict_GetItemWithError(pass->scopes, key);
  if (level == NULL && !PyErr_Occurred()) {
    level = PyDict_New();
    if (level != NULL && PyDict_SetItem(pass->scopes, key, level) < 0) Py_CLEAR(level);
    Py_XDECREF(level);  // The dict has it.
  }
  Py_DECREF(key);
  Names* names = level == NULL ? NULL : _PyArena_Malloc(pass->arena, sizeof *names);
  if (names != NULL) *names = (Names){.level = level, .kind = kind, .outer = pass->names};
  return names;
}

static int OpenScope(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  AwaitPass* pass = visitor->state;
  Names* names = NamesOf(pass, kind, node);
  if (names == NULL) return -1;
  pass->names = names;
  return 0;
}

static void CloseScope(TreeVisitor* visitor) {
  AwaitPass* pass = visitor->state;
  pass->names = pass->names->outer;
}

static int BindName(TreeVisitor* visitor, PyObject* name) {
  AwaitPass* pass = visitor->state;
  PyObject* nothing = PyLong_FromLong(kNothing);
  int failed = nothing == NULL || PyDict_SetDefault(pass->names->level, name, nothing) == NULL;
  Py_XDECREF(nothing);
  return failed ? -1 : 0;
}

static int ShareNames(AwaitPass* pass, asdl_identifier_seq* names) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    if (PySet_Add(pass->shared, asdl_seq_GET(names, i)) < 0) return -1;
  }
  return 0;
}

static int FindShared(TreeVisitor* visitor, stmt_ty* slot) {
  stmt_ty stmt = *slot;
  int failed = 0;
  if (stmt->kind == Global_kind) failed = ShareNames(visitor->state, stmt->v.Global.names);
  if (stmt->kind == Nonlocal_kind) failed = ShareNames(visitor->state, stmt->v.Nonlocal.names);
  return failed ? kVisitFailed : kVisitChildren;
}

static int FindBound(TreeVisitor* visitor, expr_ty* slot) {
  AwaitPass* pass = visitor->state;
  expr_ty expr = *slot;
  if (expr->kind == NamedExpr_kind) {  // Binds in the scope around comprehensions.
    return PySet_Add(pass->shared, expr->v.NamedExpr.target->v.Name.id) < 0 ? kVisitFailed
                                                                            : kVisitChildren;
  }
  if (expr->kind != Name_kind) return kVisitChildren;
  if (expr->v.Name.ctx != Load) {
    return BindName(visitor, expr->v.Name.id) < 0 ? kVisitFailed : kVisitChildren;
  }
  int looks = PySet_Contains(lookers, expr->v.Name.id);
  if (looks > 0) pass->loses_track = 1;
  return looks < 0 ? kVisitFailed : kVisitChildren;
}

static const Names* Binder(const AwaitPass* pass, PyObject* name) {
  const Names* names = pass->names;
  for (; names->outer != NULL; names = names->outer) {
    if (names->kind == kClassScope && names != pass->names) continue;
    if (PyDict_Contains(names->level, name) > 0) break;
  }
  return names;
}

static int LevelOf(const AwaitPass* pass, PyObject* name) {
  const Names* names = Binder(pass, name);
  // What a class binds is reached as an attribute.
  if (pass->loses_track || names->kind == kClassScope || PySet_Contains(pass->shared, name)) {
    return kAnything;
  }
  PyObject* level = PyDict_GetItemWithError(names->level, name);
  return level == NULL ? kNothing : (int)PyLong_AsLong(level);
}

// One more thing becomes of the values of `name`. Two different things are anything.
static int Note(AwaitPass* pass, PyObject* name, int level) {
  int before = LevelOf(pass, name);
  if (level == kNothing || before == level || before == kAnything) return 0;
  PyObject* now = PyLong_FromLong(before == kNothing ? level : kAnything);
  int failed = now == NULL || PyDict_SetItem(Binder(pass, name)->level, name, now) < 0;
  Py_XDECREF(now);
  pass->changed = 1;
  return failed ? -1 : 0;
}

static int FollowName(AwaitPass* pass, expr_ty name, int level) {
  PyObject* address = PyLong_FromVoidPtr(name);
  int failed = address == NULL || PySet_Add(pass->followed, address) < 0;
  Py_XDECREF(address);
  return failed ? -1 : Note(pass, name->v.Name.id, level);
}

// Values.

static int ItemLevel(int level) {
  if (level == kNothing || level == kAnything) return level;
  return level > kAwaited ? level - 1 : kAnything;
}

static int CollectionLevel(int level) {
  if (level == kNothing) return level;
  return level < kDeepest ? level + 1 : kAnything;
}

static int Follow(AwaitPass* pass, expr_ty expr, int level);

static int FollowItems(AwaitPass* pass, asdl_expr_seq* items, int level) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    expr_ty item = asdl_seq_GET(items, i);
    int failed = item->kind == Starred_kind ? Follow(pass, item->v.Starred.value, level)
                                            : Follow(pass, item, ItemLevel(level));
    if (failed) return -1;
  }
  return 0;
}

static int FollowDict(AwaitPass* pass, expr_ty dict, int level) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(dict->v.Dict.values); i++) {
    int is_merged = asdl_seq_GET(dict->v.Dict.keys, i) == NULL;
    expr_ty value = asdl_seq_GET(dict->v.Dict.values, i);
    if (Follow(pass, value, is_merged ? level : ItemLevel(level)) < 0) return -1;
  }
  return 0;
}

static int FollowInside(AwaitPass* pass, expr_ty comprehension, expr_ty item, int level) {
  Names* names = NamesOf(pass, kComprehensionScope, comprehension);
  if (names == NULL) return -1;
  pass->names = names;
  int status = Follow(pass, item, ItemLevel(level));
  pass->names = names->outer;
  return status;
}

static int IsOfAsyncio(expr_ty func) {
  if (func->kind != Attribute_kind) return 0;
  expr_ty owner = func->v.Attribute.value;
  return owner->kind == Name_kind && IsWord(owner->v.Name.id, "asyncio");
}

static int TakesAwaitables(expr_ty func) {
  if (func->kind == Name_kind) return PySet_Contains(takers, func->v.Name.id);
  if (func->kind != Attribute_kind) return 0;
  int takes = PySet_Contains(takers, func->v.Attribute.attr);
  if (takes != 0) return takes;
  // Names too common to go by alone.
  return IsOfAsyncio(func) &&
         (IsWord(func->v.Attribute.attr, "run") || IsWord(func->v.Attribute.attr, "wait"));
}

static PyObject* NameOf(expr_ty func) {
  return func->kind == Name_kind ? func->v.Name.id : func->v.Attribute.attr;
}

// f(...) becomes <wrapper>(f)(...), if f may be a tool: those are not reached through attributes.
static int WrapFunction(AwaitPass* pass, expr_ty* func, PyObject* wrapper) {
  int is_wrapped = (*func)->kind == Subscript_kind ||
                   ((*func)->kind == Name_kind && TakesAwaitables(*func) == 0);
  return is_wrapped ? WrapInCall(func, wrapper, pass->arena) : 0;
}

// p.values(), p.get(key), p.pop()
static int FollowMethod(AwaitPass* pass, expr_ty func, int level) {
  PyObject* method = func->v.Attribute.attr;
  expr_ty owner = func->v.Attribute.value;
  if (IsWord(method, "values") && level != kAwaited) return Follow(pass, owner, level);
  if (!IsAny(method, (const char* const[]){"get", "pop", "popleft", NULL})) return 0;
  return Follow(pass, owner, CollectionLevel(level));
}

static int FollowCall(AwaitPass* pass, expr_ty call, int level) {
  asdl_expr_seq* args = call->v.Call.args;
  expr_ty func = call->v.Call.func;
  if (func->kind == Attribute_kind) return FollowMethod(pass, func, level);
  if (level == kAwaited) {
    return pass->rewrites ? WrapFunction(pass, &call->v.Call.func, awaiting.pending) : 0;
  }
  if (func->kind != Name_kind || asdl_seq_LEN(args) == 0) return 0;
  PyObject* name = func->v.Name.id;
  if (IsWord(name, "map") && asdl_seq_LEN(args) >= 2 && level == kAwaited + 1 && pass->rewrites) {
    return WrapInCall(&args->typed_elements[0], awaiting.pending, pass->arena);
  }
  int collects =
      asdl_seq_LEN(args) == 1 &&
      IsAny(name, (const char* const[]){"list", "tuple", "set", "dict", "iter", "reversed", NULL});
  return collects ? Follow(pass, asdl_seq_GET(args, 0), level) : 0;
}

static int FollowParts(AwaitPass* pass, expr_ty expr, int level) {
  switch (expr->kind) {
    case Call_kind:
      return FollowCall(pass, expr, level);
    case Name_kind:
      return FollowName(pass, expr, level);
    case IfExp_kind:
      if (Follow(pass, expr->v.IfExp.body, level) < 0) return -1;
      return Follow(pass, expr->v.IfExp.orelse, level);
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:  // The three have one layout.
      return FollowInside(pass, expr, expr->v.ListComp.elt, level);
    case DictComp_kind:
      return FollowInside(pass, expr, expr->v.DictComp.value, level);
    case List_kind:
      return FollowItems(pass, expr->v.List.elts, level);
    case Tuple_kind:
      return FollowItems(pass, expr->v.Tuple.elts, level);
    case Set_kind:
      return FollowItems(pass, expr->v.Set.elts, level);
    case Dict_kind:
      return FollowDict(pass, expr, level);
    case Subscript_kind:
      return Follow(pass, expr->v.Subscript.value,
                    expr->v.Subscript.slice->kind == Slice_kind ? level : CollectionLevel(level));
    case BinOp_kind:
      if (expr->v.BinOp.op != Add || level == kAwaited) return 0;
      if (Follow(pass, expr->v.BinOp.left, level) < 0) return -1;
      return Follow(pass, expr->v.BinOp.right, level);
    default:
      return 0;
  }
}

// The value of `expr`, or what is inside of it, goes where `level` says. A name that nothing
// follows is used for anything, as FindUses says when the walk gets there.
static int Follow(AwaitPass* pass, expr_ty expr, int level) {
  if (level == kAnything || (level == kNothing && pass->settled) || pass->depth == kMaxFollowed) {
    return 0;
  }
  pass->depth++;
  int status = FollowParts(pass, expr, level);
  pass->depth--;
  return status;
}

// Where values go.

static int FollowAssigned(AwaitPass* pass, expr_ty target, expr_ty value) {
  if (target->kind == Name_kind) return Follow(pass, value, LevelOf(pass, target->v.Name.id));
  if (target->kind == Tuple_kind && value->kind == Tuple_kind &&
      asdl_seq_LEN(target->v.Tuple.elts) == asdl_seq_LEN(value->v.Tuple.elts)) {
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(value->v.Tuple.elts); i++) {
      expr_ty one = asdl_seq_GET(target->v.Tuple.elts, i);
      if (FollowAssigned(pass, one, asdl_seq_GET(value->v.Tuple.elts, i)) < 0) return -1;
    }
    return 0;
  }
  if (target->kind != Subscript_kind || target->v.Subscript.value->kind != Name_kind) return 0;
  expr_ty owner = target->v.Subscript.value;
  int level = LevelOf(pass, owner->v.Name.id);
  if (level == kAwaited || level == kAnything) return 0;
  if (FollowName(pass, owner, kNothing) < 0) return -1;
  return Follow(pass, value, ItemLevel(level));
}

// p += value
static int FollowAdded(AwaitPass* pass, expr_ty target, expr_ty value) {
  if (target->kind != Name_kind) return 0;
  int level = LevelOf(pass, target->v.Name.id);
  return level == kAwaited ? Note(pass, target->v.Name.id, kAnything) : Follow(pass, value, level);
}

static int IsCallOf(expr_ty expr, const char* name) {
  return expr->kind == Call_kind && expr->v.Call.func->kind == Name_kind &&
         IsWord(expr->v.Call.func->v.Name.id, name);
}

static int IsItems(expr_ty expr) {
  return expr->kind == Call_kind && expr->v.Call.func->kind == Attribute_kind &&
         asdl_seq_LEN(expr->v.Call.args) == 0 &&
         IsWord(expr->v.Call.func->v.Attribute.attr, "items");
}

// `for target in iterable`, with the target's names in the scope `inner`.
static int FollowIterated(AwaitPass* pass, Names* inner, expr_ty target, expr_ty iterable) {
  if (target->kind == Name_kind) {
    Names* outer = pass->names;
    pass->names = inner;
    int level = LevelOf(pass, target->v.Name.id);
    pass->names = outer;
    return Follow(pass, iterable, CollectionLevel(level));
  }
  if (target->kind != Tuple_kind || iterable->kind != Call_kind) return 0;
  asdl_expr_seq* targets = target->v.Tuple.elts;
  asdl_expr_seq* args = iterable->v.Call.args;
  if (IsItems(iterable) && asdl_seq_LEN(targets) == 2) {
    expr_ty owner = iterable->v.Call.func->v.Attribute.value;
    return FollowIterated(pass, inner, asdl_seq_GET(targets, 1), owner);
  }
  if (IsCallOf(iterable, "enumerate") && asdl_seq_LEN(targets) == 2 && asdl_seq_LEN(args) > 0) {
    return FollowIterated(pass, inner, asdl_seq_GET(targets, 1), asdl_seq_GET(args, 0));
  }
  if (!IsCallOf(iterable, "zip") || asdl_seq_LEN(targets) != asdl_seq_LEN(args)) return 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    expr_ty one = asdl_seq_GET(targets, i);
    if (FollowIterated(pass, inner, one, asdl_seq_GET(args, i)) < 0) return -1;
  }
  return 0;
}

static int FollowGenerators(AwaitPass* pass, expr_ty node, asdl_comprehension_seq* generators) {
  Names* outer = pass->names;
  Names* inner = NamesOf(pass, kComprehensionScope, node);
  int failed = inner == NULL;
  for (Py_ssize_t i = 0; !failed && i < asdl_seq_LEN(generators); i++) {
    comprehension_ty one = asdl_seq_GET(generators, i);
    pass->names = i == 0 ? outer : inner;
    failed = !one->is_async && FollowIterated(pass, inner, one->target, one->iter) < 0;
  }
  pass->names = outer;
  return failed ? -1 : 0;
}

// The awaitables among what is given to asyncio: all that gather gets, the first of the others'. The
// code's own functions get what they were given, whatever they are called.
static int FollowTaken(AwaitPass* pass, expr_ty call) {
  asdl_expr_seq* args = call->v.Call.args;
  PyObject* name = NameOf(call->v.Call.func);
  int takes_wait = IsWord(name, "wait"), takes_many = takes_wait || IsWord(name, "as_completed");
  int wraps = pass->rewrites && IsOfAsyncio(call->v.Call.func);
  Py_ssize_t count = asdl_seq_LEN(args);
  if (count > 1 && !IsWord(name, "gather")) count = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    int is_many = takes_many || arg->kind == Starred_kind;
    expr_ty* slot = arg->kind == Starred_kind ? &arg->v.Starred.value : &args->typed_elements[i];
    PyObject* wrapper = takes_wait ? awaiting.tasks
                        : is_many  ? awaiting.awaitables
                                   : awaiting.awaitable;
    if (Follow(pass, *slot, is_many ? kAwaited + 1 : kAwaited) < 0 ||
        (wraps && WrapInCall(slot, wrapper, pass->arena) < 0)) {
      return -1;
    }
  }
  return 0;
}

// p.append(value), len(p) and their like, which take nothing out of a collection.
static int FollowKept(AwaitPass* pass, expr_ty call) {
  expr_ty func = call->v.Call.func;
  asdl_expr_seq* args = call->v.Call.args;
  int is_method = func->kind == Attribute_kind;
  if (!is_method && (!IsCallOf(call, "len") || asdl_seq_LEN(args) != 1)) return 0;
  expr_ty owner = is_method ? func->v.Attribute.value : asdl_seq_GET(args, 0);
  if (owner->kind != Name_kind) return 0;
  int level = LevelOf(pass, owner->v.Name.id);
  if (level == kAwaited || level == kAnything) return 0;
  if (!is_method) return FollowName(pass, owner, kNothing);
  PyObject* method = func->v.Attribute.attr;
  if (IsAny(method, (const char* const[]){"keys", "clear", NULL})) {
    return FollowName(pass, owner, kNothing);
  }
  int adds = IsAny(method, (const char* const[]){"append", "add", "appendleft", NULL});
  if ((!adds && !IsAny(method, (const char* const[]){"extend", "update", NULL})) ||
      asdl_seq_LEN(args) != 1) {
    return 0;
  }
  if (FollowName(pass, owner, kNothing) < 0) return -1;
  return Follow(pass, asdl_seq_GET(args, 0), adds ? ItemLevel(level) : level);
}

// `if p:`, `while p:`, `if not p:` ask a collection whether it is empty.
static int FollowTest(AwaitPass* pass, expr_ty test) {
  if (test->kind == UnaryOp_kind && test->v.UnaryOp.op == Not) test = test->v.UnaryOp.operand;
  if (test->kind != Name_kind) return 0;
  int level = LevelOf(pass, test->v.Name.id);
  return level == kAwaited || level == kAnything ? 0 : FollowName(pass, test, kNothing);
}

static int FollowUsed(AwaitPass* pass, expr_ty call) {
  int takes = TakesAwaitables(call->v.Call.func);
  if (takes < 0) return -1;
  return takes ? FollowTaken(pass, call) : FollowKept(pass, call);
}

static int UseName(AwaitPass* pass, expr_ty name) {
  if (name->v.Name.ctx != Load) return 0;
  PyObject* address = PyLong_FromVoidPtr(name);
  int is_followed = address == NULL ? -1 : PySet_Contains(pass->followed, address);
  Py_XDECREF(address);
  return is_followed == 0 ? Note(pass, name->v.Name.id, kAnything) : is_followed < 0 ? -1 : 0;
}

static int FindUses(TreeVisitor* visitor, expr_ty* slot) {
  AwaitPass* pass = visitor->state;
  expr_ty expr = *slot;
  int failed = 0;
  switch (expr->kind) {
    case Await_kind:
      failed =
          Follow(pass, expr->v.Await.value, kAwaited) < 0 ||
          (pass->rewrites && WrapInCall(&expr->v.Await.value, awaiting.awaitable, pass->arena) < 0);
      break;
    case Call_kind:
      failed = FollowUsed(pass, expr) < 0;
      break;
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:
      failed = FollowGenerators(pass, expr, expr->v.ListComp.generators) < 0;
      break;
    case DictComp_kind:
      failed = FollowGenerators(pass, expr, expr->v.DictComp.generators) < 0;
      break;
    case IfExp_kind:
      failed = FollowTest(pass, expr->v.IfExp.test) < 0;
      break;
    case Lambda_kind:
      failed = pass->rewrites && expr->v.Lambda.body->kind == Call_kind &&
               WrapFunction(pass, &expr->v.Lambda.body->v.Call.func, awaiting.returned) < 0;
      break;
    case Name_kind:
      failed = UseName(pass, expr) < 0;
      break;
    default:
      break;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

// `return f(...)`, where nothing happens between the call and the end of the function: not inside of
// what catches errors, or holds something meanwhile. In an async function it is awaited.
static int WrapReturned(AwaitPass* pass, stmt_ty stmt, int is_async) {
  expr_ty call = stmt->v.Return.value;
  if (call == NULL || call->kind != Call_kind) return 0;
  if (!is_async) return WrapFunction(pass, &call->v.Call.func, awaiting.returned);
  expr_ty func = call->v.Call.func;
  if (WrapFunction(pass, &call->v.Call.func, awaiting.twin) < 0) return -1;
  if (call->v.Call.func == func) return 0;
  expr_ty* value = &stmt->v.Return.value;
  if (WrapInCall(value, awaiting.given, pass->arena) < 0) return -1;
  *value = _PyAST_Await(*value, call->lineno, call->col_offset, call->end_lineno,
                        call->end_col_offset, pass->arena);
  return *value == NULL ? -1 : 0;
}

static int WrapReturns(AwaitPass* pass, asdl_stmt_seq* block, int is_async) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(block); i++) {
    stmt_ty stmt = asdl_seq_GET(block, i);
    int failed = 0;
    if (stmt->kind == Return_kind) failed = WrapReturned(pass, stmt, is_async);
    if (stmt->kind == If_kind) {
      failed = WrapReturns(pass, stmt->v.If.body, is_async) < 0 ||
               WrapReturns(pass, stmt->v.If.orelse, is_async) < 0;
    }
    if (stmt->kind == For_kind || stmt->kind == AsyncFor_kind) {
      failed = WrapReturns(pass, stmt->v.For.body, is_async);
    }
    if (stmt->kind == AsyncWith_kind) failed = WrapReturns(pass, stmt->v.AsyncWith.body, is_async);
    if (failed) return -1;
  }
  return 0;
}

static int FindFlows(TreeVisitor* visitor, stmt_ty* slot) {
  AwaitPass* pass = visitor->state;
  stmt_ty stmt = *slot;
  int failed = 0;
  switch (stmt->kind) {
    case Assign_kind:
      failed =
          asdl_seq_LEN(stmt->v.Assign.targets) == 1 &&
          FollowAssigned(pass, asdl_seq_GET(stmt->v.Assign.targets, 0), stmt->v.Assign.value) < 0;
      break;
    case AnnAssign_kind:
      failed = stmt->v.AnnAssign.value != NULL &&
               FollowAssigned(pass, stmt->v.AnnAssign.target, stmt->v.AnnAssign.value) < 0;
      break;
    case AugAssign_kind:
      failed = FollowAdded(pass, stmt->v.AugAssign.target, stmt->v.AugAssign.value) < 0;
      break;
    case For_kind:
      failed = FollowIterated(pass, pass->names, stmt->v.For.target, stmt->v.For.iter) < 0;
      break;
    case If_kind:
    case While_kind:  // The two have one layout.
      failed = FollowTest(pass, stmt->v.If.test) < 0;
      break;
    case FunctionDef_kind:
    case AsyncFunctionDef_kind:
      failed = pass->rewrites &&
               WrapReturns(pass, stmt->v.FunctionDef.body, stmt->kind == AsyncFunctionDef_kind) < 0;
      break;
    default:
      break;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

// Until nothing new comes to light, then once more to rewrite. Levels only rise, so this ends; code
// that takes too long is left as it is.
static int FollowAll(AwaitPass* pass, mod_ty tree) {
  TreeVisitor uses = {
      .stmt = FindFlows, .expr = FindUses, .open = OpenScope, .close = CloseScope, .state = pass};
  for (int passes = 0; !pass->rewrites; passes++) {
    if (passes == kMaxPasses) pass->loses_track = pass->settled = 1;
    if (passes > 0 && !pass->changed) {
      pass->rewrites = pass->settled;
      pass->settled = 1;
    }
    pass->changed = 0;
    if (PySet_Clear(pass->followed) < 0 || VisitStmts(&uses, tree->v.Module.body) < 0) return -1;
  }
  return 0;
}

int RewriteAwaitedCalls(mod_ty tree, PyArena* arena) {
  AwaitPass pass = {.arena = arena,
                    .scopes = PyDict_New(),
                    .followed = PySet_New(NULL),
                    .shared = PySet_New(NULL)};
  TreeVisitor bound = {.stmt = FindShared,
                       .expr = FindBound,
                       .bind = BindName,
                       .open = OpenScope,
                       .close = CloseScope,
                       .state = &pass};
  int failed = pass.scopes == NULL || pass.followed == NULL || pass.shared == NULL ||
               OpenScope(&bound, kModuleScope, tree) < 0 ||
               VisitStmts(&bound, tree->v.Module.body) < 0 || FollowAll(&pass, tree) < 0;
  Py_XDECREF(pass.scopes);
  Py_XDECREF(pass.followed);
  Py_XDECREF(pass.shared);
  return failed ? -1 : 0;
}
