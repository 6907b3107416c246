#include "guest/policy/imports.h"

#include "guest/hooks.h"
#include "guest/policy/modules.h"
#include "guest/tree.h"

typedef struct Finder {
  Imports* imports;
  const ImportOptions* options;
  Findings* findings;
  int guards;  // Number of enclosing try statements that catch a failing import.
} Finder;

// Returns 1 if this interpreter lacks the module of that top-level name, 0 if not, or -1.
static int IsLacking(PyObject* top) {
  if (PyDict_GetItemWithError(PyImport_GetModuleDict(), top) != NULL) return 0;
  PyObject* answer = PyObject_CallOneArg(hooks.is_missing, top);
  int lacking = answer == NULL ? -1 : answer == Py_True;
  Py_XDECREF(answer);
  return lacking;
}

static int RefuseAbsent(Finder* finder, PyObject* top, int line, int offset) {
  if (!finder->options->refuse_absent || finder->guards > 0) return 0;
  return FindingAdd(finder->findings, "import", line, offset,
                    "ask the operator to install it and allow it (engine.native_packages), or "
                    "write it with the standard library",
                    "%.80U is not installed", top);
}

// Classifies a module seen for the first time: present here, in engine native, or nowhere.
static int Sort(Finder* finder, PyObject* top) {
  Imports* imports = finder->imports;
  PyObject* packages = finder->options->native_packages;
  if (PyList_Append(imports->names, top) < 0) return -1;
  int lacking = IsLacking(top);
  if (lacking <= 0) return lacking;
  int is_native = packages == NULL ? 0 : PySequence_Contains(packages, top);
  if (is_native < 0) return -1;
  return is_native ? PyList_Append(imports->native, top) : PySet_Add(imports->absent, top);
}

static int Note(Finder* finder, PyObject* dotted, int line, int offset) {
  PyObject* top = TopLevelName(dotted);
  int seen = top == NULL ? -1 : PySequence_Contains(finder->imports->names, top);
  int status = seen == 0 ? Sort(finder, top) : seen < 0 ? -1 : 0;
  int absent = status < 0 ? -1 : PySet_Contains(finder->imports->absent, top);
  if (absent > 0) absent = RefuseAbsent(finder, top, line, offset);
  Py_XDECREF(top);
  return absent < 0 ? -1 : 0;
}

static int IsNamed(expr_ty expr, const char* name) {
  return (expr->kind == Name_kind && _PyUnicode_EqualToASCIIString(expr->v.Name.id, name)) ||
         (expr->kind == Attribute_kind &&
          _PyUnicode_EqualToASCIIString(expr->v.Attribute.attr, name));
}

// Returns whether a handler catches the error that a missing module raises.
static int Catches(excepthandler_ty handler) {
  static const char* const names[] = {"ImportError", "ModuleNotFoundError", "Exception",
                                      "BaseException"};
  expr_ty type = handler->v.ExceptHandler.type;
  if (type == NULL) return 1;
  asdl_expr_seq* types = type->kind == Tuple_kind ? type->v.Tuple.elts : NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (IsNamed(type, names[i])) return 1;
    for (Py_ssize_t j = 0; j < asdl_seq_LEN(types); j++) {
      if (IsNamed(asdl_seq_GET(types, j), names[i])) return 1;
    }
  }
  return 0;
}

// The handlers of a try guard only its body.
static int FindInTry(TreeVisitor* visitor, stmt_ty stmt) {
  Finder* finder = visitor->state;
  asdl_excepthandler_seq* handlers = stmt->v.Try.handlers;
  int guards = 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(handlers); i++) {
    guards |= Catches(asdl_seq_GET(handlers, i));
  }
  finder->guards += guards;
  int status = VisitStmts(visitor, stmt->v.Try.body);
  finder->guards -= guards;
  for (Py_ssize_t i = 0; status == 0 && i < asdl_seq_LEN(handlers); i++) {
    status = VisitStmts(visitor, asdl_seq_GET(handlers, i)->v.ExceptHandler.body);
  }
  if (status == 0) status = VisitStmts(visitor, stmt->v.Try.orelse);
  if (status == 0) status = VisitStmts(visitor, stmt->v.Try.finalbody);
  return status < 0 ? kVisitFailed : kVisitSkip;
}

static int FindInStmt(TreeVisitor* visitor, stmt_ty* slot) {
  Finder* finder = visitor->state;
  stmt_ty stmt = *slot;
  if (stmt->kind == Import_kind) {
    asdl_alias_seq* names = stmt->v.Import.names;
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
      alias_ty alias = asdl_seq_GET(names, i);
      if (Note(finder, alias->name, alias->lineno, alias->col_offset) < 0) return kVisitFailed;
    }
    return kVisitSkip;
  }
  if (stmt->kind == ImportFrom_kind) {
    if (stmt->v.ImportFrom.level > 0 || stmt->v.ImportFrom.module == NULL) return kVisitSkip;
    int status = Note(finder, stmt->v.ImportFrom.module, stmt->lineno, stmt->col_offset);
    return status < 0 ? kVisitFailed : kVisitSkip;
  }
  int is_try = stmt->kind == Try_kind || stmt->kind == TryStar_kind;
  return is_try ? FindInTry(visitor, stmt) : kVisitChildren;
}

static int FindInExpr(TreeVisitor* visitor, expr_ty* slot) {
  Finder* finder = visitor->state;
  expr_ty expr = *slot;
  if (expr->kind != Call_kind || asdl_seq_LEN(expr->v.Call.args) == 0) return kVisitChildren;
  expr_ty func = expr->v.Call.func, first = asdl_seq_GET(expr->v.Call.args, 0);
  if (!IsNamed(func, "import_module") && !IsNamed(func, "__import__")) return kVisitChildren;
  if (first->kind != Constant_kind || !PyUnicode_CheckExact(first->v.Constant.value) ||
      PyUnicode_GET_LENGTH(first->v.Constant.value) == 0) {
    return kVisitChildren;
  }
  int status = Note(finder, first->v.Constant.value, expr->lineno, expr->col_offset);
  return status < 0 ? kVisitFailed : kVisitChildren;
}

static int SkipExpr(TreeVisitor* Py_UNUSED(visitor), expr_ty* Py_UNUSED(slot)) {
  return kVisitSkip;
}

int ImportsFind(Imports* imports, mod_ty tree, const ImportOptions* options, Findings* findings) {
  *imports = (Imports){.names = PyList_New(0), .native = PyList_New(0), .absent = PySet_New(NULL)};
  if (imports->names == NULL || imports->native == NULL || imports->absent == NULL) return -1;
  Finder finder = {.imports = imports, .options = options, .findings = findings};
  TreeVisitor visitor = {
      .stmt = FindInStmt, .expr = options->by_call ? FindInExpr : SkipExpr, .state = &finder};
  return VisitStmts(&visitor, tree->v.Module.body);
}

void ImportsRelease(Imports* imports) {
  Py_CLEAR(imports->names);
  Py_CLEAR(imports->native);
  Py_CLEAR(imports->absent);
}
