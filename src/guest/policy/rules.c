#include "guest/policy/rules.h"

#include <string.h>

Rules strict_rules;

// clang-format off
static const char* const stmt_names[] = {
    [FunctionDef_kind] = "FunctionDef", [AsyncFunctionDef_kind] = "AsyncFunctionDef",
    [ClassDef_kind] = "ClassDef", [Return_kind] = "Return", [Delete_kind] = "Delete",
    [Assign_kind] = "Assign", [AugAssign_kind] = "AugAssign", [AnnAssign_kind] = "AnnAssign",
    [For_kind] = "For", [AsyncFor_kind] = "AsyncFor", [While_kind] = "While", [If_kind] = "If",
    [With_kind] = "With", [AsyncWith_kind] = "AsyncWith", [Match_kind] = "Match",
    [Raise_kind] = "Raise", [Try_kind] = "Try", [TryStar_kind] = "TryStar",
    [Assert_kind] = "Assert", [Import_kind] = "Import", [ImportFrom_kind] = "ImportFrom",
    [Global_kind] = "Global", [Nonlocal_kind] = "Nonlocal", [Expr_kind] = "Expr",
    [Pass_kind] = "Pass", [Break_kind] = "Break", [Continue_kind] = "Continue"};
static const char* const expr_names[] = {
    [BoolOp_kind] = "BoolOp", [NamedExpr_kind] = "NamedExpr", [BinOp_kind] = "BinOp",
    [UnaryOp_kind] = "UnaryOp", [Lambda_kind] = "Lambda", [IfExp_kind] = "IfExp",
    [Dict_kind] = "Dict", [Set_kind] = "Set", [ListComp_kind] = "ListComp",
    [SetComp_kind] = "SetComp", [DictComp_kind] = "DictComp",
    [GeneratorExp_kind] = "GeneratorExp", [Await_kind] = "Await", [Yield_kind] = "Yield",
    [YieldFrom_kind] = "YieldFrom", [Compare_kind] = "Compare", [Call_kind] = "Call",
    [FormattedValue_kind] = "FormattedValue", [JoinedStr_kind] = "JoinedStr",
    [Constant_kind] = "Constant", [Attribute_kind] = "Attribute", [Subscript_kind] = "Subscript",
    [Starred_kind] = "Starred", [Name_kind] = "Name", [List_kind] = "List", [Tuple_kind] = "Tuple",
    [Slice_kind] = "Slice"};
static const char* const pattern_names[] = {
    [MatchValue_kind] = "MatchValue", [MatchSingleton_kind] = "MatchSingleton",
    [MatchSequence_kind] = "MatchSequence", [MatchMapping_kind] = "MatchMapping",
    [MatchClass_kind] = "MatchClass", [MatchStar_kind] = "MatchStar", [MatchAs_kind] = "MatchAs",
    [MatchOr_kind] = "MatchOr"};
// clang-format on

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char* NameOf(const char* const* names, size_t count, size_t kind) {
  return kind < count && names[kind] != NULL ? names[kind] : "node";
}

const char* StmtName(stmt_ty stmt) {
  return NameOf(stmt_names, COUNT(stmt_names), stmt->kind);
}
const char* ExprName(expr_ty expr) {
  return NameOf(expr_names, COUNT(expr_names), expr->kind);
}
const char* PatternName(pattern_ty pattern) {
  return NameOf(pattern_names, COUNT(pattern_names), pattern->kind);
}

static int Put(PyObject* list, const char* text, PyObject* verdict) {
  PyObject* name = PyUnicode_InternFromString(text);
  int failed = name == NULL || PyDict_SetItem(list, name, verdict) < 0;
  Py_XDECREF(name);
  return failed ? -1 : 0;
}

static PyObject* MakeList(const char* const* allowed, const CaissonRefusal* refused) {
  PyObject* list = PyDict_New();
  for (; list != NULL && *allowed != NULL; allowed++) {
    if (Put(list, *allowed, Py_True) < 0) Py_CLEAR(list);
  }
  for (; list != NULL && refused != NULL && refused->name != NULL; refused++) {
    if (Put(list, refused->name, Py_False) < 0) Py_CLEAR(list);
  }
  return list;
}

int RulesStart(void) {
  strict_rules = (Rules){
      .imports = MakeList(caisson_strict_imports, caisson_refused_members),
      .builtins = MakeList(caisson_strict_builtins, NULL),
      .os_attributes = MakeList(caisson_strict_os_attributes, NULL),
      .attributes = MakeList(caisson_strict_attributes, caisson_refused_attributes),
      .stmts = UINT32_MAX,
      .exprs = UINT32_MAX,
      .patterns = UINT32_MAX,
  };
  return strict_rules.imports == NULL || strict_rules.builtins == NULL ||
                 strict_rules.os_attributes == NULL || strict_rules.attributes == NULL
             ? -1
             : 0;
}

// One subject of a policy dict: "x" replaces the allowed names, "allow_x" adds to them, "block_x"
// removes names and takes precedence.
typedef struct Changes {
  PyObject* instead;  // Borrowed lists of str, or null.
  PyObject* allow;
  PyObject* block;
} Changes;

// A list of str under `prefix` + `subject`: 0 and the list or null, or -1.
static int FindChange(PyObject* policy, const char* prefix, const char* subject, PyObject** list) {
  PyObject* key = PyUnicode_FromFormat("%s%s", prefix, subject);
  *list = key == NULL ? NULL : PyDict_GetItemWithError(policy, key);
  Py_XDECREF(key);
  if (*list == NULL) return PyErr_Occurred() ? -1 : 0;
  if (!PyList_CheckExact(*list)) return -1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(*list); i++) {
    if (!PyUnicode_CheckExact(PyList_GET_ITEM(*list, i))) return -1;
  }
  return 0;
}

static int FindChanges(PyObject* policy, const char* subject, Changes* changes) {
  return FindChange(policy, "", subject, &changes->instead) < 0 ||
                 FindChange(policy, "allow_", subject, &changes->allow) < 0 ||
                 FindChange(policy, "block_", subject, &changes->block) < 0
             ? -1
             : 0;
}

static int PutAll(PyObject* list, PyObject* names, PyObject* verdict) {
  for (Py_ssize_t i = 0; names != NULL && i < PyList_GET_SIZE(names); i++) {
    if (PyDict_SetItem(list, PyList_GET_ITEM(names, i), verdict) < 0) return -1;
  }
  return 0;
}

// Returns only the refusals of `list`.
static PyObject* WithoutAllowed(PyObject* list) {
  PyObject* rest = PyDict_New();
  PyObject *name, *verdict;
  for (Py_ssize_t at = 0; rest != NULL && PyDict_Next(list, &at, &name, &verdict);) {
    if (verdict == Py_False && PyDict_SetItem(rest, name, verdict) < 0) Py_CLEAR(rest);
  }
  return rest;
}

static PyObject* ChangedList(PyObject* policy, const char* subject, PyObject* list) {
  Changes changes;
  if (FindChanges(policy, subject, &changes) < 0) return NULL;
  PyObject* changed = changes.instead == NULL ? PyDict_Copy(list) : WithoutAllowed(list);
  if (changed != NULL && (PutAll(changed, changes.instead, Py_True) < 0 ||
                          PutAll(changed, changes.allow, Py_True) < 0 ||
                          PutAll(changed, changes.block, Py_False) < 0)) {
    Py_CLEAR(changed);
  }
  return changed;
}

static uint32_t Bits(const char* const* names, size_t count, PyObject* listed) {
  uint32_t bits = 0;
  for (size_t kind = 0; kind < count; kind++) {
    for (Py_ssize_t i = 0; names[kind] != NULL && i < PyList_GET_SIZE(listed); i++) {
      if (_PyUnicode_EqualToASCIIString(PyList_GET_ITEM(listed, i), names[kind])) {
        bits |= (uint32_t)1 << kind;
      }
    }
  }
  return bits;
}

static uint32_t ChangedBits(const Changes* changes, const char* const* names, size_t count) {
  uint32_t bits = changes->instead == NULL ? UINT32_MAX : Bits(names, count, changes->instead);
  if (changes->allow != NULL) bits |= Bits(names, count, changes->allow);
  if (changes->block != NULL) bits &= ~Bits(names, count, changes->block);
  return bits;
}

int RulesRead(Rules* rules, PyObject* policy) {
  Changes nodes;
  if (FindChanges(policy, "nodes", &nodes) < 0) return -1;
  *rules = (Rules){
      .imports = ChangedList(policy, "imports", strict_rules.imports),
      .builtins = ChangedList(policy, "builtins", strict_rules.builtins),
      .os_attributes = ChangedList(policy, "os_attributes", strict_rules.os_attributes),
      .attributes = ChangedList(policy, "attributes", strict_rules.attributes),
      .stmts = ChangedBits(&nodes, stmt_names, COUNT(stmt_names)),
      .exprs = ChangedBits(&nodes, expr_names, COUNT(expr_names)),
      .patterns = ChangedBits(&nodes, pattern_names, COUNT(pattern_names)),
  };
  if (rules->imports != NULL && rules->builtins != NULL && rules->os_attributes != NULL &&
      rules->attributes != NULL) {
    return 0;
  }
  RulesRelease(rules);
  return -1;
}

void RulesRelease(Rules* rules) {
  Py_CLEAR(rules->imports);
  Py_CLEAR(rules->builtins);
  Py_CLEAR(rules->os_attributes);
  Py_CLEAR(rules->attributes);
}

Verdict LookUp(PyObject* list, PyObject* name) {
  PyObject* verdict = PyDict_GetItemWithError(list, name);
  return verdict == NULL ? kUnlisted : verdict == Py_True ? kAllowed : kRefused;
}

const char* HintFor(const CaissonRefusal* refusals, PyObject* name, const char* otherwise) {
  for (; refusals->name != NULL; refusals++) {
    if (_PyUnicode_EqualToASCIIString(name, refusals->name)) return refusals->hint;
  }
  return otherwise;
}
