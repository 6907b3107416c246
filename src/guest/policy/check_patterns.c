#include <string.h>

#include "guest/hooks.h"
#include "guest/policy/checker.h"

// `case Point(x, y)` reads the attributes that Point.__match_args__ names at run time. So the names
// are fixed here, and the pattern becomes `case Point(a=x, b=y)`. The names are known for classes
// written in the code, for classes of modules and for builtins. A class made in any other way may
// contain any computed name.

static PyObject* match_args_name;
static PyObject* fields_name;

int CheckPatternsStart(void) {
  match_args_name = PyUnicode_InternFromString("__match_args__");
  fields_name = PyUnicode_InternFromString("__dataclass_fields__");
  return match_args_name == NULL || fields_name == NULL ? -1 : 0;
}

// The known facts about a class.
typedef struct Known {
  PyObject* names;  // List of the names in its __match_args__, interned. Borrowed from the arena.
  int are_fields;   // They are the fields of a dataclass; a dataclass derived from it adds its own.
} Known;

// The functions below return 1 if it is certain, 0 if not, or -1 with a Python error set.

static int FindClass(Checker* checker, Scope* scope, expr_ty expr, int depth, Known* known);

static int StartNames(const Checker* checker, Known* known) {
  *known = (Known){.names = PyList_New(0)};
  return known->names == NULL || _PyArena_AddPyObject(checker->names.arena, known->names) < 0 ? -1
                                                                                              : 1;
}

static int AddName(const Known* known, PyObject* text) {
  if (!PyUnicode_CheckExact(text)) return 0;
  PyObject* name = Py_NewRef(text);
  PyUnicode_InternInPlace(&name);
  int has = PySequence_Contains(known->names, name);
  int failed = has < 0 || (!has && PyList_Append(known->names, name) < 0);
  Py_DECREF(name);
  return failed ? -1 : 1;
}

// `items`: a list or a tuple.
static int AddNames(const Known* known, PyObject* items) {
  int status = 1;
  for (Py_ssize_t i = 0; status > 0 && i < PySequence_Fast_GET_SIZE(items); i++) {
    status = AddName(known, PySequence_Fast_GET_ITEM(items, i));
  }
  return status;
}

// Sets `binding` to the binding of `name` in `scope`, or to null if nothing in the code binds it.
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

// Returns the dotted name of the module member that `expr` is, or null. Borrowed from the arena.
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

static int IsCalled(PyObject* name, const char* text) {
  return name != NULL && _PyUnicode_EqualToASCIIString(name, text);
}

// A decorator that returns the class it was given.
static int KeepsClass(PyObject* decorator) {
  static const char* const keeping[] = {"dataclasses.dataclass", "enum.unique",
                                        "functools.total_ordering", "typing.final",
                                        "typing.runtime_checkable"};
  for (size_t i = 0; i < sizeof keeping / sizeof keeping[0]; i++) {
    if (IsCalled(decorator, keeping[i])) return 1;
  }
  return 0;
}

static keyword_ty FindKeyword(asdl_keyword_seq* keywords, const char* name) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(keywords); i++) {
    keyword_ty keyword = asdl_seq_GET(keywords, i);
    if (keyword->arg == NULL || IsCalled(keyword->arg, name)) return keyword;
  }
  return NULL;
}

// Returns whether an argument has its default value, which may be written out.
static int IsLeftAt(asdl_keyword_seq* keywords, const char* name, PyObject* value) {
  keyword_ty given = FindKeyword(keywords, name);
  return given == NULL || (given->arg != NULL && given->value->kind == Constant_kind &&
                           given->value->v.Constant.value == value);
}

// Sets `is_dataclass`.
static int CheckDecorators(Checker* checker, const Thing* thing, int* is_dataclass) {
  asdl_expr_seq* decorators = thing->stmt->v.ClassDef.decorator_list;
  *is_dataclass = 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(decorators); i++) {
    expr_ty decorator = asdl_seq_GET(decorators, i);
    int is_call = decorator->kind == Call_kind;
    PyObject* name = MemberOf(checker, thing->scope, is_call ? decorator->v.Call.func : decorator);
    if (!KeepsClass(name)) return PyErr_Occurred() ? -1 : 0;
    if (!IsCalled(name, "dataclasses.dataclass")) continue;
    *is_dataclass = 1;
    if (is_call && (!IsLeftAt(decorator->v.Call.keywords, "kw_only", Py_False) ||
                    !IsLeftAt(decorator->v.Call.keywords, "match_args", Py_True))) {
      return 0;
    }
  }
  return 1;
}

// Collects the names of the base classes. Sets `is_named_tuple` if the class is a named tuple
// itself.
static int FindBases(Checker* checker, const Thing* thing, int depth, Known* known,
                     int* is_named_tuple) {
  asdl_keyword_seq* keywords = thing->stmt->v.ClassDef.keywords;
  keyword_ty meta = FindKeyword(keywords, "metaclass");
  *is_named_tuple = 0;
  if (meta != NULL && (meta->arg == NULL ||
                       !IsCalled(MemberOf(checker, thing->scope, meta->value), "abc.ABCMeta"))) {
    return PyErr_Occurred() ? -1 : 0;
  }
  asdl_expr_seq* bases = thing->stmt->v.ClassDef.bases;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(bases); i++) {
    expr_ty base = asdl_seq_GET(bases, i);
    if (IsCalled(MemberOf(checker, thing->scope, base), "typing.NamedTuple")) {
      *is_named_tuple = 1;
      continue;
    }
    Known one;
    int found = FindClass(checker, thing->scope, base, depth + 1, &one);
    if (found <= 0) return found;
    if (PyList_GET_SIZE(one.names) == 0) continue;
    if (PyList_GET_SIZE(known->names) > 0) return 0;  // The order of several bases is not followed.
    known->are_fields = one.are_fields;
    found = AddNames(known, one.names);
    if (found <= 0) return found;
  }
  return 1;
}

// Returns whether a part of an annotation or a value has that name: ClassVar[int], typing.ClassVar,
// "ClassVar".
static int Mentions(expr_ty expr, const char* name) {
  if (expr->kind == Subscript_kind) expr = expr->v.Subscript.value;
  if (expr->kind == Call_kind) expr = expr->v.Call.func;
  if (expr->kind == Attribute_kind) return IsCalled(expr->v.Attribute.attr, name);
  if (expr->kind == Name_kind) return IsCalled(expr->v.Name.id, name);
  if (expr->kind != Constant_kind || !PyUnicode_CheckExact(expr->v.Constant.value)) return 0;
  const char* text = PyUnicode_AsUTF8(expr->v.Constant.value);
  if (text == NULL) PyErr_Clear();
  return text == NULL || strstr(text, name) != NULL;
}

// A field that is set by position, unlike `field(init=False)`.
static int IsPositional(stmt_ty field) {
  expr_ty value = field->v.AnnAssign.value;
  if (Mentions(field->v.AnnAssign.annotation, "ClassVar")) return 0;
  if (value == NULL || value->kind != Call_kind) return 1;
  keyword_ty init = FindKeyword(value->v.Call.keywords, "init");
  return init == NULL || init->value->kind != Constant_kind ||
         init->value->v.Constant.value != Py_False;
}

static int AddFields(asdl_stmt_seq* body, Known* known) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++) {
    stmt_ty stmt = asdl_seq_GET(body, i);
    if (stmt->kind != AnnAssign_kind || stmt->v.AnnAssign.target->kind != Name_kind) continue;
    expr_ty value = stmt->v.AnnAssign.value;
    if (Mentions(stmt->v.AnnAssign.annotation, "KW_ONLY")) return 0;
    if (value != NULL && value->kind == Call_kind &&
        !IsLeftAt(value->v.Call.keywords, "kw_only", Py_False)) {
      return 0;
    }
    int status = IsPositional(stmt) ? AddName(known, stmt->v.AnnAssign.target->v.Name.id) : 1;
    if (status <= 0) return status;
  }
  return 1;
}

// Returns the literal that a class body assigns to __match_args__; null if there is none.
static expr_ty WrittenNames(asdl_stmt_seq* body) {
  expr_ty written = NULL;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++) {
    stmt_ty stmt = asdl_seq_GET(body, i);
    expr_ty target = stmt->kind == AnnAssign_kind ? stmt->v.AnnAssign.target
                     : stmt->kind == Assign_kind  ? asdl_seq_GET(stmt->v.Assign.targets, 0)
                                                  : NULL;
    if (target == NULL || target->kind != Name_kind || target->v.Name.id != match_args_name) {
      continue;
    }
    written = stmt->kind == Assign_kind ? stmt->v.Assign.value : stmt->v.AnnAssign.value;
  }
  return written;
}

// Each field of a literal list: "name", or ("name", type).
static int AddLiterals(expr_ty list, const Known* known) {
  if (list->kind != List_kind && list->kind != Tuple_kind) return 0;
  asdl_expr_seq* items = list->v.List.elts;  // Both kinds have the same layout.
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    expr_ty item = asdl_seq_GET(items, i);
    if (item->kind == Tuple_kind && asdl_seq_LEN(item->v.Tuple.elts) > 0) {
      item = asdl_seq_GET(item->v.Tuple.elts, 0);
    }
    int status = item->kind == Constant_kind ? AddName(known, item->v.Constant.value) : 0;
    if (status <= 0) return status;
  }
  return 1;
}

// A name bound in an `if` of a class body may be bound or not.
static int IsStraight(asdl_stmt_seq* body) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++) {
    switch (asdl_seq_GET(body, i)->kind) {
      case If_kind:
      case For_kind:
      case While_kind:
      case With_kind:
      case Try_kind:
      case TryStar_kind:
      case Match_kind:
        return 0;
      default:
        break;
    }
  }
  return 1;
}

static int FindWritten(Checker* checker, const Thing* thing, int depth, Known* known) {
  asdl_stmt_seq* body = thing->stmt->v.ClassDef.body;
  Known inherited;
  int is_dataclass, is_named_tuple;
  int status = IsStraight(body) ? CheckDecorators(checker, thing, &is_dataclass) : 0;
  if (status > 0) status = StartNames(checker, &inherited);
  if (status > 0) status = FindBases(checker, thing, depth, &inherited, &is_named_tuple);
  if (status <= 0) return status;
  expr_ty written = WrittenNames(body);
  if (written != NULL) return AddLiterals(written, known);
  if (is_dataclass && !inherited.are_fields && PyList_GET_SIZE(inherited.names) > 0) return 0;
  known->are_fields = is_dataclass || inherited.are_fields;
  status = AddNames(known, inherited.names);
  return status > 0 && (is_dataclass || is_named_tuple) ? AddFields(body, known) : status;
}

// "x y", "x, y".
static int AddWords(PyObject* text, const Known* known) {
  if (!PyUnicode_CheckExact(text)) return 0;
  PyObject* spaced = PyObject_CallMethod(text, "replace", "ss", ",", " ");
  PyObject* words = spaced == NULL ? NULL : PyUnicode_Split(spaced, NULL, -1);
  int status = words == NULL ? -1 : AddNames(known, words);
  Py_XDECREF(words);
  Py_XDECREF(spaced);
  return status;
}

// `Point = namedtuple("Point", "x y")`.
static int FindNamedTuple(Checker* checker, const Thing* thing, const Known* known) {
  asdl_expr_seq* args = thing->expr->v.Call.args;
  PyObject* maker = MemberOf(checker, thing->scope, thing->expr->v.Call.func);
  if (asdl_seq_LEN(args) != 2 || FindKeyword(thing->expr->v.Call.keywords, "rename") != NULL ||
      (!IsCalled(maker, "collections.namedtuple") && !IsCalled(maker, "typing.NamedTuple"))) {
    return PyErr_Occurred() ? -1 : 0;
  }
  expr_ty fields = asdl_seq_GET(args, 1);
  return fields->kind == Constant_kind ? AddWords(fields->v.Constant.value, known)
                                       : AddLiterals(fields, known);
}

// A class that already exists can be inspected.
static int FindInType(PyObject* value, Known* known) {
  if (value == NULL || !PyType_Check(value)) return 0;
  known->are_fields = _PyType_Lookup((PyTypeObject*)value, fields_name) != NULL;
  PyObject* names = _PyType_Lookup((PyTypeObject*)value, match_args_name);
  if (names == NULL) return 1;
  return PyTuple_CheckExact(names) ? AddNames(known, names) : 0;
}

static int FindThing(Checker* checker, const Thing* thing, int depth, Known* known) {
  if (thing->kind == kSame) {
    return FindClass(checker, thing->scope, thing->expr, depth + 1, known);
  }
  int status = StartNames(checker, known);
  if (status <= 0) return status;
  switch (thing->kind) {
    case kMember:
      return FindInType(LoadedMember(&checker->modules, thing->name), known);
    case kClass:
      return FindWritten(checker, thing, depth, known);
    case kMade:
      return FindNamedTuple(checker, thing, known);
    default:
      return 0;
  }
}

// Returns the value of `name` if nothing in this code binds it: earlier code of a session did, or
// it is a builtin.
static PyObject* LeftOrBuiltin(PyObject* name) {
  PyObject* left = PyDict_GetItemWithError(hooks.main_globals, name);
  return left != NULL ? left : PyDict_GetItemWithError(PyEval_GetBuiltins(), name);
}

static int FindName(Checker* checker, Scope* scope, PyObject* name, int depth, Known* known) {
  Binding* binding;
  int status = FindMeaning(&checker->names, scope, name, &binding);
  if (status <= 0) return status;
  if (binding == NULL) {
    status = StartNames(checker, known);
    return status <= 0 ? status : FindInType(LeftOrBuiltin(name), known);
  }
  Thing* first = binding->things;
  status = first == NULL ? 0 : FindThing(checker, first, depth, known);
  for (Thing* thing = first; status > 0 && thing->next != NULL; thing = thing->next) {
    Known other;
    status = FindThing(checker, thing->next, depth, &other);
    if (status > 0) status = PyObject_RichCompareBool(known->names, other.names, Py_EQ);
  }
  return status;
}

static int FindClass(Checker* checker, Scope* scope, expr_ty expr, int depth, Known* known) {
  if (depth > kMaxAliasDepth || ++checker->steps > kMaxAliasSteps) return 0;
  if (expr->kind == Subscript_kind) expr = expr->v.Subscript.value;  // Generic[T]
  if (expr->kind == Name_kind) return FindName(checker, scope, expr->v.Name.id, depth, known);
  PyObject* dotted = MemberOf(checker, scope, expr);
  if (dotted == NULL) return PyErr_Occurred() ? -1 : 0;
  int status = StartNames(checker, known);
  return status <= 0 ? status : FindInType(LoadedMember(&checker->modules, dotted), known);
}

// `case int(n)`: matches the object itself, and Python's own classes cannot be changed.
static int IsBuiltinClass(Checker* checker, expr_ty cls) {
  Binding* binding = NULL;
  PyObject* value = NULL;
  if (cls->kind == Name_kind &&
      FindMeaning(&checker->names, checker->names.current, cls->v.Name.id, &binding) > 0 &&
      binding == NULL) {
    value = LeftOrBuiltin(cls->v.Name.id);
  } else {
    PyObject* dotted = MemberOf(checker, checker->names.current, cls);
    if (dotted == NULL) return PyErr_Occurred() ? -1 : 0;
    value = LoadedMember(&checker->modules, dotted);
  }
  return value != NULL && Py_IS_TYPE(value, &PyType_Type) &&
         PyType_HasFeature((PyTypeObject*)value, Py_TPFLAGS_IMMUTABLETYPE) &&
         _PyType_Lookup((PyTypeObject*)value, match_args_name) == NULL;
}

// Puts the names before the sub-patterns that have none.
static int Settle(Checker* checker, pattern_ty pattern, PyObject* names) {
  asdl_pattern_seq* positional = pattern->v.MatchClass.patterns;
  asdl_identifier_seq* attributes = pattern->v.MatchClass.kwd_attrs;
  asdl_pattern_seq* named = pattern->v.MatchClass.kwd_patterns;
  Py_ssize_t count = asdl_seq_LEN(positional), more = asdl_seq_LEN(attributes);
  PyArena* arena = checker->names.arena;
  asdl_identifier_seq* all_attributes = _Py_asdl_identifier_seq_new(count + more, arena);
  asdl_pattern_seq* all = _Py_asdl_pattern_seq_new(count + more, arena);
  if (all_attributes == NULL || all == NULL) return -1;
  for (Py_ssize_t i = 0; i < count + more; i++) {
    int is_named = i >= count;
    PyObject* name = is_named ? asdl_seq_GET(attributes, i - count) : PyList_GET_ITEM(names, i);
    asdl_seq_SET(all_attributes, i, name);
    asdl_seq_SET(all, i, asdl_seq_GET(is_named ? named : positional, is_named ? i - count : i));
  }
  pattern->v.MatchClass.patterns = NULL;
  pattern->v.MatchClass.kwd_attrs = all_attributes;
  pattern->v.MatchClass.kwd_patterns = all;
  return 0;
}

static int SettleNames(Checker* checker, pattern_ty pattern) {
  expr_ty cls = pattern->v.MatchClass.cls;
  Py_ssize_t count = asdl_seq_LEN(pattern->v.MatchClass.patterns);
  int builtin = count == 0 ? 1 : IsBuiltinClass(checker, cls);
  if (builtin != 0) return builtin < 0 ? -1 : 0;
  Known known;
  int status = FindClass(checker, checker->names.current, cls, 0, &known);
  if (status < 0) return -1;
  if (status > 0 && PyList_GET_SIZE(known.names) >= count) {
    return Settle(checker, pattern, known.names);
  }
  return FindingAdd(checker->findings, "attribute", pattern->lineno, pattern->col_offset,
                    "name the attributes: Point(x=0, y=0)",
                    "it cannot be told which attributes this pattern reads");
}

int CheckClassPattern(Checker* checker, pattern_ty pattern) {
  if (SettleNames(checker, pattern) < 0) return -1;
  asdl_identifier_seq* attributes = pattern->v.MatchClass.kwd_attrs;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(attributes); i++) {
    PyObject* name = asdl_seq_GET(attributes, i);
    expr_ty cls = pattern->v.MatchClass.cls;
    if (CheckAttributeName(checker, cls, NULL, name) < 0 ||
        CheckEvaluator(checker, cls, name) < 0) {
      return -1;
    }
  }
  return 0;
}
