#include "guest/awaits/await_values.h"

#include "guest/awaits/await_meanings.h"
#include "guest/awaits/awaiting.h"

enum { kMaxFollowed = 100 };

int IsOneOf(PyObject* name, const char* const* words) {
  while (*words != NULL && !_PyUnicode_EqualToASCIIString(name, *words)) words++;
  return *words != NULL;
}

int AddMark(Flow* flow, expr_ty* slot, PyObject* function) {
  Marks* marks = flow->marks;
  if (marks->count == marks->room) {
    size_t room = marks->room == 0 ? 16 : marks->room * 2;
    Mark* first = PyMem_Realloc(marks->first, room * sizeof *first);
    if (first == NULL) {
      PyErr_NoMemory();
      return -1;
    }
    marks->first = first;
    marks->room = room;
  }
  marks->first[marks->count++] = (Mark){.slot = slot, .function = function};
  return 0;
}

// Names.

int LevelOfName(const Flow* flow, expr_ty name) {
  return LevelOf(flow->variables, name->v.Name.id);
}

void NoteLevel(Flow* flow, expr_ty name, int level) {
  int before = LevelOfName(flow, name);
  if (level == kNothing || before == level || before == kAnything) return;
  Variables* variables = flow->variables;
  Variable* variable = VariableOf(variables, variables->current, name->v.Name.id);
  variable->level = before == kNothing ? level : kAnything;
  flow->changed = 1;
}

int FollowName(Flow* flow, expr_ty name, int level) {
  NoteLevel(flow, name, level);
  if (_Py_hashtable_get(flow->followed, name) != NULL) return 0;
  if (_Py_hashtable_set(flow->followed, name, name) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

int Keeps(Flow* flow, expr_ty name) {
  int level = LevelOfName(flow, name);
  return level != kAwaited && level != kAnything && IsCollection(flow->variables, name);
}

// Values.

int ItemLevel(int level) {
  if (level == kNothing || level == kAnything) return level;
  return level > kAwaited ? level - 1 : kAnything;
}

int CollectionLevel(int level) {
  if (level == kNothing) return level;
  return level < kDeepest ? level + 1 : kAnything;
}

static int FollowItems(Flow* flow, asdl_expr_seq* items, int level) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    expr_ty item = asdl_seq_GET(items, i);
    int failed = item->kind == Starred_kind ? Follow(flow, item->v.Starred.value, level)
                                            : Follow(flow, item, ItemLevel(level));
    if (failed) return -1;
  }
  return 0;
}

static int FollowDict(Flow* flow, expr_ty dict, int level) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(dict->v.Dict.values); i++) {
    int is_merged = asdl_seq_GET(dict->v.Dict.keys, i) == NULL;
    expr_ty value = asdl_seq_GET(dict->v.Dict.values, i);
    if (Follow(flow, value, is_merged ? level : ItemLevel(level)) < 0) return -1;
  }
  return 0;
}

static int FollowInside(Flow* flow, expr_ty comprehension, expr_ty item, int level) {
  if (OpenAwaitScope(flow->variables, kComprehensionScope, comprehension) < 0) return -1;
  int status = Follow(flow, item, ItemLevel(level));
  CloseAwaitScope(flow->variables);
  return status;
}

// p.values(), p.get(key), p.pop()
static int FollowMethod(Flow* flow, expr_ty func, int level) {
  PyObject* method = func->v.Attribute.attr;
  expr_ty owner = func->v.Attribute.value;
  if (_PyUnicode_EqualToASCIIString(method, "values") && level != kAwaited)
    return Follow(flow, owner, level);
  if (!IsOneOf(method, (const char* const[]){"get", "pop", "popleft", NULL})) return 0;
  return Follow(flow, owner, CollectionLevel(level));
}

static int FollowCall(Flow* flow, expr_ty call, int level) {
  asdl_expr_seq* args = call->v.Call.args;
  expr_ty func = call->v.Call.func;
  Meaning meaning = MeaningOf(flow->variables, func);
  if (level == kAwaited && MayBeTool(func)) {
    return TakesAwaitables(meaning) ? 0 : AddMark(flow, &call->v.Call.func, awaiting.pending);
  }
  if (level != kAwaited && meaning == kMaps && asdl_seq_LEN(args) >= 2) {
    return level == kAwaited + 1 ? AddMark(flow, &args->typed_elements[0], awaiting.pending) : 0;
  }
  if (level != kAwaited && (meaning == kCollects || meaning == kPassesOn)) {
    return asdl_seq_LEN(args) == 1 ? Follow(flow, asdl_seq_GET(args, 0), level) : 0;
  }
  return func->kind == Attribute_kind ? FollowMethod(flow, func, level) : 0;
}

// In a sum each operand sees the other.
static int FollowSum(Flow* flow, expr_ty sum, int level) {
  expr_ty left = sum->v.BinOp.left, right = sum->v.BinOp.right;
  if (sum->v.BinOp.op != Add || level == kAwaited || !IsCollection(flow->variables, left) ||
      !IsCollection(flow->variables, right)) {
    return 0;
  }
  return Follow(flow, left, level) < 0 ? -1 : Follow(flow, right, level);
}

static int FollowParts(Flow* flow, expr_ty expr, int level) {
  switch (expr->kind) {
    case Call_kind:
      return FollowCall(flow, expr, level);
    case Name_kind:
      return FollowName(flow, expr, level);
    case IfExp_kind:
      if (Follow(flow, expr->v.IfExp.body, level) < 0) return -1;
      return Follow(flow, expr->v.IfExp.orelse, level);
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:  // The three kinds have the same layout.
      return FollowInside(flow, expr, expr->v.ListComp.elt, level);
    case DictComp_kind:
      return FollowInside(flow, expr, expr->v.DictComp.value, level);
    case List_kind:
      return FollowItems(flow, expr->v.List.elts, level);
    case Tuple_kind:
      return FollowItems(flow, expr->v.Tuple.elts, level);
    case Set_kind:
      return FollowItems(flow, expr->v.Set.elts, level);
    case Dict_kind:
      return FollowDict(flow, expr, level);
    case Subscript_kind:
      return Follow(flow, expr->v.Subscript.value,
                    expr->v.Subscript.slice->kind == Slice_kind ? level : CollectionLevel(level));
    case BinOp_kind:
      return FollowSum(flow, expr, level);
    default:
      return 0;
  }
}

int Follow(Flow* flow, expr_ty expr, int level) {
  if (level == kAnything || (level == kNothing && flow->settled) || flow->depth == kMaxFollowed) {
    return 0;
  }
  flow->depth++;
  int status = FollowParts(flow, expr, level);
  flow->depth--;
  return status;
}
