#include "guest/awaits/await_scopes.h"

// Functions that access variables in other ways.
static const char* const kLookers[] = {"globals", "locals", "vars", "eval", "exec"};

static int Looks(PyObject* name) {
  for (size_t i = 0; i < sizeof kLookers / sizeof *kLookers; i++) {
    if (_PyUnicode_EqualToASCIIString(name, kLookers[i])) return 1;
  }
  return 0;
}

// The parser interns identifiers, so their addresses identify them.
static Py_uhash_t HashOfVariable(const void* key) {
  const Variable* variable = key;
  return _Py_hashtable_hash_ptr(variable->name) * 31 + _Py_hashtable_hash_ptr(variable->scope);
}

static int IsSameVariable(const void* left, const void* right) {
  const Variable *one = left, *other = right;
  return one->name == other->name && one->scope == other->scope;
}

static int Put(_Py_hashtable_t* table, const void* key, void* value) {
  if (_Py_hashtable_set(table, key, value) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

// Scopes.

AwaitScope* ScopeOf(Variables* variables, ScopeKind kind, const void* node) {
  AwaitScope* scope = _Py_hashtable_get(variables->scopes, node);
  if (scope != NULL) return scope;
  scope = _PyArena_Malloc(variables->arena, sizeof *scope);
  if (scope == NULL) return NULL;
  *scope = (AwaitScope){.kind = kind, .outer = variables->current};
  return Put(variables->scopes, node, scope) < 0 ? NULL : scope;
}

int OpenAwaitScope(Variables* variables, ScopeKind kind, const void* node) {
  AwaitScope* scope = ScopeOf(variables, kind, node);
  if (scope == NULL) return -1;
  variables->current = scope;
  return 0;
}

void CloseAwaitScope(Variables* variables) {
  variables->current = variables->current->outer;
}

// Variables.

Variable* VariableIn(const Variables* variables, const AwaitScope* scope, PyObject* name) {
  const Variable key = {.scope = scope, .name = name};
  return _Py_hashtable_get(variables->table, &key);
}

Variable* VariableOf(const Variables* variables, const AwaitScope* scope, PyObject* name) {
  for (const AwaitScope* at = scope; at != NULL; at = at->outer) {
    if (at->kind == kClassScope && at != scope) continue;
    Variable* variable = VariableIn(variables, at, name);
    if (variable != NULL) return variable;
  }
  return NULL;
}

int IsTracked(const Variables* variables, const Variable* variable) {
  // Names that a class binds can be accessed as attributes.
  return !variables->loses_track && variable->scope->kind != kClassScope &&
         VariableIn(variables, &variables->shared, variable->name) == NULL;
}

int LevelOf(const Variables* variables, PyObject* name) {
  const Variable* variable = VariableOf(variables, variables->current, name);
  return variable != NULL && IsTracked(variables, variable) ? variable->level : kAnything;
}

// The first walk: finds what is bound where, and to what.

// The head of `import a.b`, for example, was just created and is not interned.
static PyObject* Interned(PyArena* arena, PyObject* name) {
  if (PyUnicode_CHECK_INTERNED(name)) return name;
  Py_INCREF(name);
  PyUnicode_InternInPlace(&name);
  if (_PyArena_AddPyObject(arena, name) == 0) return name;
  Py_DECREF(name);
  return NULL;
}

static Variable* MakeVariable(Variables* variables, const AwaitScope* scope, PyObject* name) {
  name = Interned(variables->arena, name);
  Variable* variable = name == NULL ? NULL : VariableIn(variables, scope, name);
  if (name == NULL || variable != NULL) return variable;
  variable = _PyArena_Malloc(variables->arena, sizeof *variable);
  if (variable == NULL) return NULL;
  *variable = (Variable){.scope = scope, .name = name, .level = kNothing};
  return Put(variables->table, variable, variable) < 0 ? NULL : variable;
}

static int BindName(TreeVisitor* visitor, PyObject* name) {
  Variables* variables = visitor->state;
  Variable* variable = MakeVariable(variables, variables->current, name);
  if (variable == NULL) return -1;
  variable->places++;
  if (PyUnicode_READ_CHAR(variable->name, 0) == '*') variables->star = variable;
  return 0;
}

static int AddSource(Variables* variables, PyObject* name, Source source) {
  Variable* variable = MakeVariable(variables, variables->current, name);
  Source* added = variable == NULL ? NULL : _PyArena_Malloc(variables->arena, sizeof *added);
  if (added == NULL) return -1;
  *added = source;
  added->scope = variables->current;
  added->next = variable->sources;
  variable->sources = added;
  variable->known_places++;
  return 0;
}

static int AddAssigned(Variables* variables, expr_ty target, expr_ty value) {
  if (target == NULL || value == NULL || target->kind != Name_kind) return 0;
  return AddSource(variables, target->v.Name.id, (Source){.value = value});
}

static int AddEntered(Variables* variables, asdl_withitem_seq* items) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    withitem_ty item = asdl_seq_GET(items, i);
    if (AddAssigned(variables, item->optional_vars, item->context_expr) < 0) return -1;
  }
  return 0;
}

// `import a.b` binds a; `import a.b as c` binds a.b.
static int AddImported(Variables* variables, asdl_alias_seq* names) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    PyObject* module = alias->name;
    Py_ssize_t size = PyUnicode_GET_LENGTH(module);
    Py_ssize_t dot = alias->asname != NULL ? -1 : PyUnicode_FindChar(module, '.', 0, size, 1);
    if (dot == -2) return -1;
    if (dot >= 0) {
      module = PyUnicode_Substring(module, 0, dot);
      if (module == NULL) return -1;
      if (_PyArena_AddPyObject(variables->arena, module) < 0) {
        Py_DECREF(module);
        return -1;
      }
    }
    PyObject* name = alias->asname != NULL ? alias->asname : module;
    if (AddSource(variables, name, (Source){.module = module}) < 0) return -1;
  }
  return 0;
}

static int AddImportedFrom(Variables* variables, stmt_ty stmt) {
  PyObject* module = stmt->v.ImportFrom.module;
  asdl_alias_seq* names = stmt->v.ImportFrom.names;
  if (module == NULL || stmt->v.ImportFrom.level > 0) return 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    PyObject* name = alias->asname != NULL ? alias->asname : alias->name;
    const Source source = {.module = module, .member = alias->name};
    if (AddSource(variables, name, source) < 0) return -1;
  }
  return 0;
}

static int ShareName(Variables* variables, PyObject* name) {
  return MakeVariable(variables, &variables->shared, name) == NULL ? -1 : 0;
}

static int ShareNames(Variables* variables, asdl_identifier_seq* names) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    if (ShareName(variables, asdl_seq_GET(names, i)) < 0) return -1;
  }
  return 0;
}

static int FindInStmt(TreeVisitor* visitor, stmt_ty* slot) {
  Variables* variables = visitor->state;
  stmt_ty stmt = *slot;
  int failed = 0;
  switch (stmt->kind) {
    case Global_kind:
      failed = ShareNames(variables, stmt->v.Global.names);
      break;
    case Nonlocal_kind:
      failed = ShareNames(variables, stmt->v.Nonlocal.names);
      break;
    case Assign_kind:  // A value with two names has no source for either.
      if (asdl_seq_LEN(stmt->v.Assign.targets) != 1) break;
      failed =
          AddAssigned(variables, asdl_seq_GET(stmt->v.Assign.targets, 0), stmt->v.Assign.value);
      break;
    case AnnAssign_kind:
      failed = AddAssigned(variables, stmt->v.AnnAssign.target, stmt->v.AnnAssign.value);
      break;
    case AugAssign_kind:
      failed = AddAssigned(variables, stmt->v.AugAssign.target, stmt->v.AugAssign.value);
      break;
    case With_kind:
    case AsyncWith_kind:  // Both kinds have the same layout.
      failed = AddEntered(variables, stmt->v.With.items);
      break;
    case Import_kind:
      failed = AddImported(variables, stmt->v.Import.names);
      break;
    case ImportFrom_kind:
      failed = AddImportedFrom(variables, stmt);
      break;
    default:
      break;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

static int FindInExpr(TreeVisitor* visitor, expr_ty* slot) {
  Variables* variables = visitor->state;
  expr_ty expr = *slot;
  int failed = 0;
  if (expr->kind == NamedExpr_kind) {  // Binds in the scope around comprehensions.
    failed = ShareName(variables, expr->v.NamedExpr.target->v.Name.id);
  } else if (expr->kind == Name_kind && expr->v.Name.ctx != Load) {
    failed = BindName(visitor, expr->v.Name.id);
  } else if (expr->kind == Name_kind && Looks(expr->v.Name.id)) {
    variables->loses_track = 1;
  }
  return failed ? kVisitFailed : kVisitChildren;
}

static int Open(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  return OpenAwaitScope(visitor->state, kind, node);
}

static void Close(TreeVisitor* visitor) {
  CloseAwaitScope(visitor->state);
}

int FindVariables(Variables* variables, asdl_stmt_seq* body, PyObject* tools, PyArena* arena) {
  *variables = (Variables){
      .arena = arena,
      .tools = tools,
      .scopes = _Py_hashtable_new(_Py_hashtable_hash_ptr, _Py_hashtable_compare_direct),
      .table = _Py_hashtable_new(HashOfVariable, IsSameVariable),
      .module = {.kind = kModuleScope},
  };
  variables->current = &variables->module;
  if (variables->scopes == NULL || variables->table == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  TreeVisitor visitor = {.stmt = FindInStmt,
                         .expr = FindInExpr,
                         .bind = BindName,
                         .open = Open,
                         .close = Close,
                         .state = variables};
  return VisitStmts(&visitor, body);
}

void ReleaseVariables(Variables* variables) {
  if (variables->scopes != NULL) _Py_hashtable_destroy(variables->scopes);
  if (variables->table != NULL) _Py_hashtable_destroy(variables->table);
}
