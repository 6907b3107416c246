#include "guest/checker.h"
#include "guest/hooks.h"

// `case Point(x, y)` reads the attributes that Point.__match_args__ names. Where those names come from is
// known for classes written in the code, for classes of modules and for builtins; a class that was made
// in any other way may name whatever its maker computed.

static PyObject* match_args_name;
static PyObject* metaclass_name;

int CheckPatternsStart(void) {
  match_args_name = PyUnicode_InternFromString("__match_args__");
  metaclass_name = PyUnicode_InternFromString("metaclass");
  return match_args_name == NULL || metaclass_name == NULL ? -1 : 0;
}

// The functions below return 1 if it is certain, 0 if not, or -1 with a Python error set.

static int IsKnownClass(Checker* checker, Scope* scope, expr_ty expr, int depth);

// An attribute that anything may be asked for.
static int IsPlainName(const Checker* checker, PyObject* name) {
  if (!PyUnicode_CheckExact(name)) return 0;
  Verdict verdict = LookUp(checker->rules->attributes, name);
  return verdict == kAllowed || (verdict == kUnlisted && !IsDunder(name));
}

// Sets `binding` to what `name` means in `scope`, or to null if nothing in the code binds it.
static int FindMeaning(const Names* names, Scope* scope, PyObject* name, Binding** binding) {
  *binding = NULL;
  if (FindBinding(names, &names->nonlocals, name) != NULL) return 0;
  for (Scope* at = scope; at != NULL; at = at->parent) {
    Binding* found = at != scope && at->kind == kClassScope ? NULL : FindBinding(names, at, name);
    if (found == NULL) continue;
    if (at->kind == kClassScope) return 0;
    *binding = found->is_global ? FindBinding(names, &names->module, name) : found;
    return *binding != NULL;
  }
  return 1;
}

// The dotted name of the module's member that `expr` is, or null. Borrowed from the arena.
static PyObject* MemberOf(Checker* checker, Scope* scope, expr_ty expr) {
  if (expr->kind == Name_kind) {
    Binding* binding;
    int known = FindMeaning(&checker->names, scope, expr->v.Name.id, &binding);
    Thing* only = known > 0 && binding != NULL ? binding->things : NULL;
    return only != NULL && only->next == NULL && only->kind == kMember ? only->name : NULL;
  }
  if (expr->kind != Attribute_kind) return NULL;
  Possible owner = {.count = 0};
  if (Evaluate(checker, scope, expr->v.Attribute.value, &owner, 0) < 0 || owner.count != 1 ||
      owner.too_many || owner.of[0].kind != kModule) {
    return NULL;
  }
  PyObject* dotted = PyUnicode_FromFormat("%U.%U", owner.of[0].name, expr->v.Attribute.attr);
  return dotted != NULL && _PyArena_AddPyObject(checker->names.arena, dotted) == 0 ? dotted : NULL;
}

static int IsOneOf(PyObject* name, const char* const* texts) {
  for (; name != NULL && *texts != NULL; texts++) {
    if (_PyUnicode_EqualToASCIIString(name, *texts)) return 1;
  }
  return 0;
}

// A decorator that gives back the class it got.
static int KeepsClass(Checker* checker, Scope* scope, expr_ty decorator) {
  static const char* const keeping[] = {"dataclasses.dataclass",    "enum.unique",
                                        "functools.total_ordering", "typing.final",
                                        "typing.runtime_checkable", NULL};
  expr_ty named = decorator->kind == Call_kind ? decorator->v.Call.func : decorator;
  return IsOneOf(MemberOf(checker, scope, named), keeping);
}

static int IsWrittenClass(Checker* checker, const Thing* thing, int depth) {
  stmt_ty stmt = thing->stmt;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(stmt->v.ClassDef.keywords); i++) {
    PyObject* name = asdl_seq_GET(stmt->v.ClassDef.keywords, i)->arg;
    if (name == NULL || name == metaclass_name) return 0;
  }
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(stmt->v.ClassDef.decorator_list); i++) {
    expr_ty decorator = asdl_seq_GET(stmt->v.ClassDef.decorator_list, i);
    if (!KeepsClass(checker, thing->scope, decorator)) return 0;
  }
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(stmt->v.ClassDef.bases); i++) {
    expr_ty base = asdl_seq_GET(stmt->v.ClassDef.bases, i);
    int known = IsKnownClass(checker, thing->scope, base, depth + 1);
    if (known <= 0) return known;
  }
  return 1;
}

// Each field of a literal list: "name", or ("name", type).
static int AreFields(const Checker* checker, expr_ty list) {
  if (list->kind != List_kind && list->kind != Tuple_kind) return 0;
  asdl_expr_seq* items = list->v.List.elts;  // The two have one layout.
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    expr_ty item = asdl_seq_GET(items, i);
    if (item->kind == Tuple_kind && asdl_seq_LEN(item->v.Tuple.elts) > 0) {
      item = asdl_seq_GET(item->v.Tuple.elts, 0);
    }
    if (item->kind != Constant_kind || !IsPlainName(checker, item->v.Constant.value)) return 0;
  }
  return 1;
}

// "x y", "x, y".
static int AreWords(const Checker* checker, PyObject* text) {
  PyObject* spaced = PyUnicode_CheckExact(text)
                         ? PyObject_CallMethod(text, "replace", "ss", ",", " ")
                         : Py_NewRef(Py_None);
  PyObject* words = spaced == NULL || spaced == Py_None ? NULL : PyUnicode_Split(spaced, NULL, -1);
  int plain = spaced == NULL ? -1 : spaced == Py_None ? 0 : words == NULL ? -1 : 1;
  for (Py_ssize_t i = 0; plain > 0 && i < PyList_GET_SIZE(words); i++) {
    plain = IsPlainName(checker, PyList_GET_ITEM(words, i));
  }
  Py_XDECREF(words);
  Py_XDECREF(spaced);
  return plain;
}

// `Point = namedtuple("Point", "x y")`.
static int IsNamedTuple(Checker* checker, const Thing* thing) {
  static const char* const makers[] = {"collections.namedtuple", "typing.NamedTuple", NULL};
  asdl_expr_seq* args = thing->expr->v.Call.args;
  if (asdl_seq_LEN(args) != 2 ||
      !IsOneOf(MemberOf(checker, thing->scope, thing->expr->v.Call.func), makers)) {
    return 0;
  }
  expr_ty fields = asdl_seq_GET(args, 1);
  return fields->kind == Constant_kind ? AreWords(checker, fields->v.Constant.value)
                                       : AreFields(checker, fields);
}

static int IsKnownThing(Checker* checker, const Thing* thing, int depth) {
  switch (thing->kind) {
    case kMember:
      return 1;
    case kClass:
      return IsWrittenClass(checker, thing, depth);
    case kMade:
      return IsNamedTuple(checker, thing);
    case kSame:
      return IsKnownClass(checker, thing->scope, thing->expr, depth + 1);
    default:
      return 0;
  }
}

// What an earlier piece of a session left: it can be looked at.
static int IsPlainType(const Checker* checker, PyObject* value) {
  if (!PyType_CheckExact(value)) return 0;  // With a metaclass, nothing is certain.
  PyObject* names = _PyType_Lookup((PyTypeObject*)value, match_args_name);
  if (names == NULL) return 1;
  if (!PyTuple_CheckExact(names)) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
    if (!IsPlainName(checker, PyTuple_GET_ITEM(names, i))) return 0;
  }
  return 1;
}

static int IsKnownName(Checker* checker, Scope* scope, PyObject* name, int depth) {
  Binding* binding;
  int known = FindMeaning(&checker->names, scope, name, &binding);
  if (known <= 0) return known;
  if (binding == NULL) {
    PyObject* left = PyDict_GetItemWithError(hooks.main_globals, name);
    return left == NULL || IsPlainType(checker, left);  // Or a builtin.
  }
  known = binding->things != NULL;
  for (Thing* thing = binding->things; thing != NULL && known > 0; thing = thing->next) {
    known = IsKnownThing(checker, thing, depth);
  }
  return known;
}

static int IsKnownClass(Checker* checker, Scope* scope, expr_ty expr, int depth) {
  if (depth > kMaxAliasDepth || ++checker->steps > kMaxAliasSteps) return 0;
  if (expr->kind == Subscript_kind) expr = expr->v.Subscript.value;  // Generic[T]
  if (expr->kind == Name_kind) return IsKnownName(checker, scope, expr->v.Name.id, depth);
  if (MemberOf(checker, scope, expr) != NULL) return 1;
  return PyErr_Occurred() ? -1 : 0;
}

int CheckClassPattern(Checker* checker, pattern_ty pattern) {
  expr_ty cls = pattern->v.MatchClass.cls;
  asdl_identifier_seq* attributes = pattern->v.MatchClass.kwd_attrs;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(attributes); i++) {
    if (CheckAttributeName(checker, cls, NULL, asdl_seq_GET(attributes, i)) < 0) return -1;
  }
  if (asdl_seq_LEN(pattern->v.MatchClass.patterns) == 0) return 0;
  int known = IsKnownClass(checker, checker->names.current, cls, 0);
  if (known != 0) return known < 0 ? -1 : 0;
  return FindingAdd(checker->findings, "attribute", pattern->lineno, pattern->col_offset,
                    "name the attributes: Point(x=0, y=0)",
                    "it cannot be told which attributes this pattern reads");
}
