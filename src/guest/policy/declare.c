#include "guest/policy/declare.h"

typedef struct Declarer {
  Names* names;
  ModulePolicy* policy;
  const Stretch* stretch;  // Where the visited targets are certainly bound, or null.
  PyObject* defined;       // Already declared by the statement just visited.
} Declarer;

static const Thing kOtherThing = {.kind = kOther};

static int Declare(Declarer* declarer, PyObject* name, Thing thing, const Stretch* stretch) {
  Binding* binding = BindingForStore(declarer->names, name);
  if (AddThing(declarer->names, binding, thing) < 0) return -1;
  return stretch == NULL ? 0 : AddStretch(declarer->names, binding, *stretch);
}

// From the end of `stmt` to the end of its block: everything written there runs after it.
static Stretch RestOfBlock(const TreeVisitor* visitor, stmt_ty stmt) {
  asdl_stmt_seq* block = visitor->block;
  stmt_ty last = asdl_seq_GET(block, asdl_seq_LEN(block) - 1);
  return (Stretch){.from_line = stmt->end_lineno,
                   .from_offset = stmt->end_col_offset,
                   .to_line = last->end_lineno,
                   .to_offset = last->end_col_offset};
}

static Stretch Body(asdl_stmt_seq* body) {
  stmt_ty first = asdl_seq_GET(body, 0), last = asdl_seq_GET(body, asdl_seq_LEN(body) - 1);
  return (Stretch){.from_line = first->lineno,
                   .from_offset = first->col_offset,
                   .to_line = last->end_lineno,
                   .to_offset = last->end_col_offset};
}

// A function without decorators cannot run before its name is bound, so its own body counts.
static int DeclareDefinition(TreeVisitor* visitor, stmt_ty stmt) {
  int is_class = stmt->kind == ClassDef_kind;
  PyObject* name = is_class ? stmt->v.ClassDef.name : stmt->v.FunctionDef.name;
  Stretch stretch = RestOfBlock(visitor, stmt);
  if (!is_class && asdl_seq_LEN(stmt->v.FunctionDef.decorator_list) == 0) {
    stretch.from_line = stmt->lineno;
    stretch.from_offset = stmt->col_offset;
  }
  Declarer* declarer = visitor->state;
  Thing thing = kOtherThing;
  if (is_class) {
    thing = (Thing){.kind = kClass, .stmt = stmt, .scope = declarer->names->current};
  }
  declarer->defined = name;
  return Declare(declarer, name, thing, &stretch) < 0 ? kVisitFailed : kVisitChildren;
}

enum { kMaxTextDepth = 20, kMaxText = 64 * 1024 };

static PyObject* JoinedText(expr_ty expr, int depth);

// A new reference, or null.
static PyObject* SumOfTexts(expr_ty left, expr_ty right, int depth) {
  PyObject* first = JoinedText(left, depth);
  PyObject* second = first == NULL ? NULL : JoinedText(right, depth);
  int fits =
      second != NULL && PyUnicode_GET_LENGTH(first) + PyUnicode_GET_LENGTH(second) < kMaxText;
  PyObject* sum = fits ? PyUnicode_Concat(first, second) : NULL;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return sum;
}

static PyObject* JoinedText(expr_ty expr, int depth) {
  if (expr->kind == Constant_kind && PyUnicode_CheckExact(expr->v.Constant.value)) {
    return Py_NewRef(expr->v.Constant.value);
  }
  if (expr->kind != BinOp_kind || depth == kMaxTextDepth) return NULL;
  expr_ty left = expr->v.BinOp.left, right = expr->v.BinOp.right;
  if (expr->v.BinOp.op == Add) return SumOfTexts(left, right, depth + 1);
  if (expr->v.BinOp.op != Mult) return NULL;
  return SumOfTexts(left, left, depth + 1);
}

PyObject* LiteralTextOf(expr_ty expr, PyArena* arena) {
  PyObject* text = JoinedText(expr, 0);
  return text != NULL && _PyArena_AddPyObject(arena, text) < 0 ? NULL : text;
}

static Thing ThingOf(const Names* names, expr_ty value) {
  PyObject* text;
  switch (value->kind) {
    case BinOp_kind:
      text = LiteralTextOf(value, names->arena);
      if (text == NULL) PyErr_Clear();  // Treated as unknown.
      return text == NULL ? kOtherThing : (Thing){.kind = kText, .name = text};
    case Name_kind:
    case Attribute_kind:
      return (Thing){.kind = kSame, .expr = value, .scope = names->current};
    case Constant_kind:
      if (!PyUnicode_CheckExact(value->v.Constant.value)) return kOtherThing;
      return (Thing){.kind = kText, .name = value->v.Constant.value};
    case Call_kind:
      return (Thing){.kind = kMade, .expr = value, .scope = names->current};
    default:
      return kOtherThing;
  }
}

// `name = value`; a more complicated target binds an unknown value.
static int DeclareTarget(TreeVisitor* visitor, stmt_ty stmt, expr_ty* target, expr_ty value) {
  Declarer* declarer = visitor->state;
  Stretch stretch = RestOfBlock(visitor, stmt);
  if ((*target)->kind == Name_kind) {
    return Declare(declarer, (*target)->v.Name.id, ThingOf(declarer->names, value), &stretch);
  }
  declarer->stretch = &stretch;
  int status = VisitExpr(visitor, target);
  declarer->stretch = NULL;
  return status;
}

static int DeclareAssigned(TreeVisitor* visitor, stmt_ty stmt) {
  asdl_expr_seq* targets = stmt->v.Assign.targets;
  if (VisitExpr(visitor, &stmt->v.Assign.value) < 0) return kVisitFailed;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(targets); i++) {
    if (DeclareTarget(visitor, stmt, &targets->typed_elements[i], stmt->v.Assign.value) < 0) {
      return kVisitFailed;
    }
  }
  return kVisitSkip;
}

// Without a value it binds nothing, but makes the name a local.
static int DeclareAnnotated(TreeVisitor* visitor, stmt_ty stmt) {
  Declarer* declarer = visitor->state;
  expr_ty target = stmt->v.AnnAssign.target, value = stmt->v.AnnAssign.value;
  if (VisitExpr(visitor, &stmt->v.AnnAssign.annotation) < 0) return kVisitFailed;
  if (value == NULL) {
    if (target->kind != Name_kind) return kVisitSkip;
    return BindingForStore(declarer->names, target->v.Name.id) == NULL ? kVisitFailed : kVisitSkip;
  }
  int failed = VisitExpr(visitor, &stmt->v.AnnAssign.value) < 0 ||
               DeclareTarget(visitor, stmt, &stmt->v.AnnAssign.target, value) < 0;
  return failed ? kVisitFailed : kVisitSkip;
}

static int DeclareLoop(TreeVisitor* visitor, stmt_ty stmt) {
  Declarer* declarer = visitor->state;
  Stretch body = Body(stmt->v.For.body);
  declarer->stretch = &body;
  int status = VisitExpr(visitor, &stmt->v.For.target);
  declarer->stretch = NULL;
  int failed = status < 0 || VisitExpr(visitor, &stmt->v.For.iter) < 0 ||
               VisitStmts(visitor, stmt->v.For.body) < 0 ||
               VisitStmts(visitor, stmt->v.For.orelse) < 0;
  return failed ? kVisitFailed : kVisitSkip;
}

static int DeclareScope(Declarer* declarer, asdl_identifier_seq* listed, int is_global) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(listed); i++) {
    Names* names = declarer->names;
    if (is_global && names->current == &names->module) return 0;
    Binding* binding = MakeBinding(names, names->current, asdl_seq_GET(listed, i));
    if (binding == NULL) return -1;
    if (is_global) {
      binding->is_global = 1;
      continue;
    }
    binding->is_nonlocal = 1;
    if (MakeBinding(names, &names->nonlocals, binding->name) == NULL) return -1;
  }
  return 0;
}

// `except E as name` unbinds the name at its end.
static int DeclareHandlers(Declarer* declarer, asdl_excepthandler_seq* handlers) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(handlers); i++) {
    PyObject* name = asdl_seq_GET(handlers, i)->v.ExceptHandler.name;
    Binding* binding = name == NULL ? NULL : BindingForStore(declarer->names, name);
    if (binding != NULL) binding->is_deleted = binding->is_caught = 1;
  }
  return 0;
}

// `import a.b.c` makes modules of a.b and a.b.c, whether or not a is loaded yet.
static int NoteDotted(ModulePolicy* policy, PyObject* dotted) {
  if (policy->imported == NULL) policy->imported = PySet_New(NULL);
  if (policy->imported == NULL) return -1;
  Py_ssize_t size = PyUnicode_GET_LENGTH(dotted);
  for (Py_ssize_t i = 1; i <= size; i++) {
    if (i < size && PyUnicode_READ_CHAR(dotted, i) != '.') continue;
    PyObject* part = PyUnicode_Substring(dotted, 0, i);
    int failed = part == NULL || PySet_Add(policy->imported, part) < 0;
    Py_XDECREF(part);
    if (failed) return -1;
  }
  return 0;
}

// `import a.b` binds a; `import a.b as c` binds a.b.
static int DeclareImport(Declarer* declarer, alias_ty alias, const Stretch* stretch) {
  PyObject* module = alias->name;
  if (alias->asname == NULL) {
    module = TopLevelName(alias->name);
    if (module == NULL || _PyArena_AddPyObject(declarer->policy->arena, module) < 0) return -1;
    if (module != alias->name && NoteDotted(declarer->policy, alias->name) < 0) return -1;
  }
  PyObject* name = alias->asname == NULL ? module : alias->asname;
  return Declare(declarer, name, (Thing){.kind = kModule, .name = module}, stretch);
}

static int DeclareFrom(Declarer* declarer, PyObject* module, alias_ty alias,
                       const Stretch* stretch) {
  if (PyUnicode_READ_CHAR(alias->name, 0) == '*') return 0;
  Thing thing = kOtherThing;
  Member member = {.kind = kPlainMember};
  if (module != NULL && LookUpMember(declarer->policy, module, alias->name, &member) < 0) return -1;
  if (member.kind == kModuleMember) thing = (Thing){.kind = kModule, .name = member.name};
  if (member.kind == kSpecialMember) thing = (Thing){.kind = kSpecial, .name = member.name};
  if (member.kind == kPlainMember && module != NULL) {
    PyObject* dotted = PyUnicode_FromFormat("%U.%U", module, alias->name);
    if (dotted == NULL || _PyArena_AddPyObject(declarer->policy->arena, dotted) < 0) return -1;
    thing = (Thing){.kind = kMember, .name = dotted};
  }
  return Declare(declarer, alias->asname == NULL ? alias->name : alias->asname, thing, stretch);
}

static int DeclareImports(TreeVisitor* visitor, stmt_ty stmt) {
  int is_from = stmt->kind == ImportFrom_kind;
  asdl_alias_seq* names = is_from ? stmt->v.ImportFrom.names : stmt->v.Import.names;
  Stretch stretch = RestOfBlock(visitor, stmt);
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    int status = is_from ? DeclareFrom(visitor->state, stmt->v.ImportFrom.module, alias, &stretch)
                         : DeclareImport(visitor->state, alias, &stretch);
    if (status < 0) return kVisitFailed;
  }
  return kVisitSkip;
}

static int DeclareStmt(TreeVisitor* visitor, stmt_ty* slot) {
  Declarer* declarer = visitor->state;
  stmt_ty stmt = *slot;
  switch (stmt->kind) {
    case FunctionDef_kind:
    case AsyncFunctionDef_kind:
    case ClassDef_kind:
      return DeclareDefinition(visitor, stmt);
    case Assign_kind:
      return DeclareAssigned(visitor, stmt);
    case AnnAssign_kind:
      return DeclareAnnotated(visitor, stmt);
    case For_kind:
    case AsyncFor_kind:
      return DeclareLoop(visitor, stmt);
    case Import_kind:
    case ImportFrom_kind:
      return DeclareImports(visitor, stmt);
    case Global_kind:
      return DeclareScope(declarer, stmt->v.Global.names, 1);
    case Nonlocal_kind:
      return DeclareScope(declarer, stmt->v.Nonlocal.names, 0);
    case Try_kind:
    case TryStar_kind:
      return DeclareHandlers(declarer, stmt->v.Try.handlers);
    default:
      return kVisitChildren;
  }
}

static int DeclareExpr(TreeVisitor* visitor, expr_ty* slot) {
  Declarer* declarer = visitor->state;
  expr_ty expr = *slot;
  if (expr->kind == NamedExpr_kind) {
    Binding* binding = BindingForWalrus(declarer->names, expr->v.NamedExpr.target->v.Name.id);
    if (AddThing(declarer->names, binding, kOtherThing) < 0) return kVisitFailed;
    return VisitExpr(visitor, &expr->v.NamedExpr.value) < 0 ? kVisitFailed : kVisitSkip;
  }
  if (expr->kind != Name_kind || expr->v.Name.ctx == Load) return kVisitChildren;
  if (expr->v.Name.ctx == Del) {
    Binding* binding = BindingForStore(declarer->names, expr->v.Name.id);
    if (binding == NULL) return kVisitFailed;
    binding->is_deleted = 1;
    return kVisitChildren;
  }
  int status = Declare(declarer, expr->v.Name.id, kOtherThing, declarer->stretch);
  return status < 0 ? kVisitFailed : kVisitChildren;
}

static int DeclareBound(TreeVisitor* visitor, PyObject* name) {
  Declarer* declarer = visitor->state;
  PyObject* defined = declarer->defined;
  declarer->defined = NULL;
  if (name == defined) return 0;
  return Declare(declarer, name, kOtherThing, NULL);
}

static int Open(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  return ScopeOpen(((Declarer*)visitor->state)->names, kind, node);
}

static void Close(TreeVisitor* visitor) {
  ScopeClose(((Declarer*)visitor->state)->names);
}

int DeclareNames(Names* names, ModulePolicy* policy, asdl_stmt_seq* body) {
  Declarer declarer = {.names = names, .policy = policy};
  TreeVisitor visitor = {.stmt = DeclareStmt,
                         .expr = DeclareExpr,
                         .bind = DeclareBound,
                         .open = Open,
                         .close = Close,
                         .state = &declarer};
  return VisitStmts(&visitor, body);
}
