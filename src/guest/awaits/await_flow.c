#include "guest/awaits/await_flow.h"

#include "guest/awaits/await_meanings.h"
#include "guest/awaits/await_values.h"
#include "guest/awaits/awaiting.h"

enum { kMaxPasses = 12 };

static int FollowAssigned(Flow* flow, expr_ty target, expr_ty value) {
  if (target->kind == Name_kind) return Follow(flow, value, LevelOfName(flow, target));
  if (target->kind == Tuple_kind && value->kind == Tuple_kind &&
      asdl_seq_LEN(target->v.Tuple.elts) == asdl_seq_LEN(value->v.Tuple.elts)) {
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(value->v.Tuple.elts); i++) {
      expr_ty one = asdl_seq_GET(target->v.Tuple.elts, i);
      if (FollowAssigned(flow, one, asdl_seq_GET(value->v.Tuple.elts, i)) < 0) return -1;
    }
    return 0;
  }
  if (target->kind != Subscript_kind || target->v.Subscript.value->kind != Name_kind) return 0;
  expr_ty owner = target->v.Subscript.value;
  if (!Keeps(flow, owner)) return 0;
  if (FollowName(flow, owner, kNothing) < 0) return -1;
  return Follow(flow, value, ItemLevel(LevelOfName(flow, owner)));
}

// p += value, p |= value
static int FollowAdded(Flow* flow, stmt_ty stmt) {
  expr_ty target = stmt->v.AugAssign.target;
  if (target->kind != Name_kind) return 0;
  int adds = stmt->v.AugAssign.op == Add || stmt->v.AugAssign.op == BitOr;
  if (adds && Keeps(flow, target))
    return Follow(flow, stmt->v.AugAssign.value, LevelOfName(flow, target));
  NoteLevel(flow, target, kAnything);
  return 0;
}

static int IsItems(expr_ty call) {
  expr_ty func = call->v.Call.func;
  return func->kind == Attribute_kind && asdl_seq_LEN(call->v.Call.args) == 0 &&
         _PyUnicode_EqualToASCIIString(func->v.Attribute.attr, "items");
}

static int FollowIterated(Flow* flow, AwaitScope* inner, expr_ty target, expr_ty iterable);

// for a, b in p.items(), enumerate(p), zip(p, q)
static int FollowUnpacked(Flow* flow, AwaitScope* inner, asdl_expr_seq* targets, expr_ty call) {
  asdl_expr_seq* args = call->v.Call.args;
  if (IsItems(call) && asdl_seq_LEN(targets) == 2) {
    expr_ty owner = call->v.Call.func->v.Attribute.value;
    return FollowIterated(flow, inner, asdl_seq_GET(targets, 1), owner);
  }
  Meaning meaning = MeaningOf(flow->variables, call->v.Call.func);
  if (meaning == kEnumerates && asdl_seq_LEN(targets) == 2 && asdl_seq_LEN(args) > 0) {
    return FollowIterated(flow, inner, asdl_seq_GET(targets, 1), asdl_seq_GET(args, 0));
  }
  if (meaning != kZips || asdl_seq_LEN(targets) != asdl_seq_LEN(args)) return 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    expr_ty one = asdl_seq_GET(targets, i);
    if (FollowIterated(flow, inner, one, asdl_seq_GET(args, i)) < 0) return -1;
  }
  return 0;
}

// `for target in iterable`, with the target's names in the scope `inner`.
static int FollowIterated(Flow* flow, AwaitScope* inner, expr_ty target, expr_ty iterable) {
  if (target->kind == Name_kind) {
    AwaitScope* outer = flow->variables->current;
    flow->variables->current = inner;
    int level = LevelOfName(flow, target);
    flow->variables->current = outer;
    return Follow(flow, iterable, CollectionLevel(level));
  }
  if (target->kind != Tuple_kind || iterable->kind != Call_kind) return 0;
  return FollowUnpacked(flow, inner, target->v.Tuple.elts, iterable);
}

static int FollowGenerators(Flow* flow, expr_ty node, asdl_comprehension_seq* generators) {
  Variables* variables = flow->variables;
  AwaitScope* outer = variables->current;
  AwaitScope* inner = ScopeOf(variables, kComprehensionScope, node);
  int failed = inner == NULL;
  for (Py_ssize_t i = 0; !failed && i < asdl_seq_LEN(generators); i++) {
    comprehension_ty one = asdl_seq_GET(generators, i);
    variables->current = i == 0 ? outer : inner;
    failed = !one->is_async && FollowIterated(flow, inner, one->target, one->iter) < 0;
  }
  variables->current = outer;
  return failed ? -1 : 0;
}

// Marks the awaitables among the arguments of a function of asyncio.
static int FollowTaken(Flow* flow, expr_ty call, Meaning meaning) {
  asdl_expr_seq* args = call->v.Call.args;
  Py_ssize_t count = asdl_seq_LEN(args);
  if (count > 1 && meaning != kTakesEach) count = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    int is_starred = arg->kind == Starred_kind;
    int level = is_starred || meaning == kTakesItems ? kAwaited + 1 : kAwaited;
    if (Follow(flow, is_starred ? arg->v.Starred.value : arg, level) < 0) return -1;
  }
  return AddMark(flow, &call->v.Call.func, awaiting.taking);
}

// p.append(value) and similar methods, which take nothing out of a collection.
static int FollowPut(Flow* flow, expr_ty call) {
  expr_ty func = call->v.Call.func;
  expr_ty owner = func->v.Attribute.value;
  PyObject* method = func->v.Attribute.attr;
  asdl_expr_seq* args = call->v.Call.args;
  if (owner->kind != Name_kind || !Keeps(flow, owner)) return 0;
  if (IsOneOf(method, (const char* const[]){"keys", "clear", NULL})) {
    return FollowName(flow, owner, kNothing);
  }
  int adds = IsOneOf(method, (const char* const[]){"append", "add", "appendleft", NULL});
  if ((!adds && !IsOneOf(method, (const char* const[]){"extend", "update", NULL})) ||
      asdl_seq_LEN(args) != 1) {
    return 0;
  }
  if (FollowName(flow, owner, kNothing) < 0) return -1;
  int level = LevelOfName(flow, owner);
  return Follow(flow, asdl_seq_GET(args, 0), adds ? ItemLevel(level) : level);
}

// A name in a place that only asks how many items a collection has.
static int FollowCounted(Flow* flow, expr_ty expr) {
  if (expr->kind != Name_kind) return 0;
  int level = LevelOfName(flow, expr);
  return level == kAwaited || level == kAnything ? 0 : FollowName(flow, expr, kNothing);
}

// `if p:`, `while p:`, `if not p:`
static int FollowTest(Flow* flow, expr_ty test) {
  int is_not = test->kind == UnaryOp_kind && test->v.UnaryOp.op == Not;
  return FollowCounted(flow, is_not ? test->v.UnaryOp.operand : test);
}

static int FollowUsed(Flow* flow, expr_ty call) {
  expr_ty func = call->v.Call.func;
  asdl_expr_seq* args = call->v.Call.args;
  Meaning meaning = MeaningOf(flow->variables, func);
  if (TakesAwaitables(meaning)) return FollowTaken(flow, call, meaning);
  if (meaning == kCounts && asdl_seq_LEN(args) == 1) {
    return FollowCounted(flow, asdl_seq_GET(args, 0));
  }
  // Whether it belongs to asyncio is decided when it is called; until then, its arguments are
  // unchanged.
  if (meaning == kUnknown && IsCalledLikeTaker(func)) {
    return AddMark(flow, &call->v.Call.func, awaiting.taking);
  }
  return func->kind == Attribute_kind ? FollowPut(flow, call) : 0;
}

// A name that nothing follows counts as used for anything.
static void UseName(Flow* flow, expr_ty name) {
  if (name->v.Name.ctx != Load || _Py_hashtable_get(flow->followed, name) != NULL) return;
  NoteLevel(flow, name, kAnything);
}

static int FollowAwaited(Flow* flow, expr_ty* value) {
  return Follow(flow, *value, kAwaited) < 0 ? -1 : AddMark(flow, value, awaiting.awaitable);
}

static int VisitUse(TreeVisitor* visitor, expr_ty* slot) {
  Flow* flow = visitor->state;
  expr_ty expr = *slot;
  int failed = 0;
  switch (expr->kind) {
    case Await_kind:
      failed = FollowAwaited(flow, &expr->v.Await.value);
      break;
    case Call_kind:
      failed = FollowUsed(flow, expr);
      break;
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:
      failed = FollowGenerators(flow, expr, expr->v.ListComp.generators);
      break;
    case DictComp_kind:
      failed = FollowGenerators(flow, expr, expr->v.DictComp.generators);
      break;
    case IfExp_kind:
      failed = FollowTest(flow, expr->v.IfExp.test);
      break;
    case Name_kind:
      UseName(flow, expr);
      break;
    default:
      break;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

static int VisitFlow(TreeVisitor* visitor, stmt_ty* slot) {
  Flow* flow = visitor->state;
  stmt_ty stmt = *slot;
  int failed = 0;
  switch (stmt->kind) {
    case Assign_kind:
      if (asdl_seq_LEN(stmt->v.Assign.targets) != 1) break;
      failed = FollowAssigned(flow, asdl_seq_GET(stmt->v.Assign.targets, 0), stmt->v.Assign.value);
      break;
    case AnnAssign_kind:
      if (stmt->v.AnnAssign.value == NULL) break;
      failed = FollowAssigned(flow, stmt->v.AnnAssign.target, stmt->v.AnnAssign.value);
      break;
    case AugAssign_kind:
      failed = FollowAdded(flow, stmt);
      break;
    case For_kind:
      failed = FollowIterated(flow, flow->variables->current, stmt->v.For.target, stmt->v.For.iter);
      break;
    case If_kind:
    case While_kind:  // Both kinds have the same layout.
      failed = FollowTest(flow, stmt->v.If.test);
      break;
    default:
      break;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

static int Open(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  return OpenAwaitScope(((Flow*)visitor->state)->variables, kind, node);
}

static void Close(TreeVisitor* visitor) {
  CloseAwaitScope(((Flow*)visitor->state)->variables);
}

// Repeats until nothing new is found; the marks of the last pass are right. Levels only rise, so
// this ends. If it takes too long, names count as used for anything.
static int RunPasses(Flow* flow, asdl_stmt_seq* body) {
  TreeVisitor visitor = {
      .stmt = VisitFlow, .expr = VisitUse, .open = Open, .close = Close, .state = flow};
  for (int passes = 1;; passes++) {
    flow->changed = 0;
    flow->marks->count = 0;
    _Py_hashtable_clear(flow->followed);
    if (VisitStmts(&visitor, body) < 0) return -1;
    if (flow->changed && passes >= kMaxPasses) {
      flow->variables->loses_track = flow->settled = 1;
    } else if (!flow->changed && flow->settled) {
      return 0;
    } else if (!flow->changed) {
      flow->settled = 1;
    }
  }
}

void ReleaseMarks(Marks* marks) {
  PyMem_Free(marks->first);
  *marks = (Marks){.count = 0};
}

int FindAwaited(Variables* variables, asdl_stmt_seq* body, Marks* marks) {
  Flow flow = {
      .variables = variables,
      .marks = marks,
      .followed = _Py_hashtable_new(_Py_hashtable_hash_ptr, _Py_hashtable_compare_direct),
  };
  if (flow.followed == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  int status = RunPasses(&flow, body);
  _Py_hashtable_destroy(flow.followed);
  return status;
}
