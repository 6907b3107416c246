#include "guest/policy/checker.h"
#include "guest/policy/declare.h"
#include "guest/policy/own_attributes.h"

static PyObject* match_args_name;

#define COPY_HINT "define __copy__ or __deepcopy__"
// Names that Python itself looks up; code must not bind them.
static const CaissonRefusal unbindable[] = {
    {"__annotations__", "write the annotations where they belong"},
    {"__build_class__", "choose another name"},
    {"__builtins__", "choose another name"},
    {"__getstate__", COPY_HINT},
    {"__globals__", "choose another name"},
    {"__import__", "choose another name"},
    {"__loader__", "choose another name"},
    {"__match_args__", "write it as an assignment in a class, with literal names"},
    {"__prepare__", "write the names in the class body"},
    {"__reduce__", COPY_HINT},
    {"__reduce_ex__", COPY_HINT},
    {"__spec__", "choose another name"},
    {NULL, NULL}};

int CheckStart(void) {
  match_args_name = PyUnicode_InternFromString("__match_args__");
  return match_args_name == NULL || CheckValuesStart() < 0 || CheckCallsStart() < 0 ||
                 CheckPackagesStart() < 0 || CheckPatternsStart() < 0
             ? -1
             : 0;
}

static int AddAt(Checker* checker, const char* rule, int line, int offset, const char* hint,
                 const char* format, PyObject* name) {
  return FindingAdd(checker->findings, rule, line, offset, hint, format, name);
}

int RefuseNode(Checker* checker, const char* name) {
  return FindingAdd(checker->findings, "node", checker->line, checker->offset,
                    "write it in another way", "%s is not allowed here", name);
}

// Names that are bound.

static int CheckBound(Checker* checker, PyObject* name) {
  const char* hint = IsDunder(name) ? HintFor(unbindable, name, NULL) : NULL;
  if (hint == NULL) return 0;
  return AddAt(checker, "name", checker->line, checker->offset, hint, "%.80U cannot be assigned",
               name);
}

// A name that a module may be bound to, so that the check recognises it wherever it is used.
static int MayNameModule(Checker* checker, PyObject* name) {
  Names* names = &checker->names;
  Binding* binding = FindBinding(names, names->current, name);
  return names->current->kind != kClassScope && !IsMangled(checker, name) &&
         (binding == NULL || !binding->is_nonlocal);
}

static int CheckModuleName(Checker* checker, alias_ty alias, PyObject* name) {
  if (MayNameModule(checker, name)) return 0;
  return AddAt(checker, "import", alias->lineno, alias->col_offset,
               "import it at the top of the code", "%.80U is imported where it cannot be followed",
               name);
}

// Imports.

static int IsAbsent(const Checker* checker, PyObject* module) {
  if (checker->options->absent == NULL) return 0;
  PyObject* top = TopLevelName(module);
  int absent = top == NULL ? -1 : PySet_Contains(checker->options->absent, top);
  Py_XDECREF(top);
  return absent;
}

static int RefuseImport(Checker* checker, alias_ty alias, PyObject* module, Verdict verdict) {
  int absent = verdict == kUnlisted ? IsAbsent(checker, module) : 0;
  if (absent != 0) return absent < 0 ? -1 : 0;
  PyObject* top = TopLevelName(module);
  if (top == NULL) return -1;
  const char* hint =
      HintFor(caisson_import_hints, top, "use the modules that are allowed, or a tool of the host");
  Py_DECREF(top);
  return AddAt(checker, "import", alias->lineno, alias->col_offset, hint,
               "the module %.80U is not allowed", module);
}

// Below os only the entries of the list of os attributes are allowed: `import os.path`.
static int CheckBelowOs(Checker* checker, alias_ty alias, PyObject* module) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(module);
  if (size < 4 || PyUnicode_READ_CHAR(module, 0) != 'o' || PyUnicode_READ_CHAR(module, 1) != 's' ||
      PyUnicode_READ_CHAR(module, 2) != '.') {
    return 0;
  }
  PyObject* below = PyUnicode_Substring(module, 3, size);
  if (below == NULL) return -1;
  int allowed = LookUp(checker->rules->os_attributes, below) == kAllowed;
  Py_DECREF(below);
  return allowed ? 0
                 : AddAt(checker, "import", alias->lineno, alias->col_offset, "use pathlib",
                         "the module %.80U is not allowed", module);
}

// `import asyncio.__main__`: private modules of packages can run code, start processes and read
// anything.
static int CheckPublic(Checker* checker, alias_ty alias, PyObject* module) {
  for (Py_ssize_t i = 1; i < PyUnicode_GET_LENGTH(module); i++) {
    if (PyUnicode_READ_CHAR(module, i - 1) != '.' || PyUnicode_READ_CHAR(module, i) != '_')
      continue;
    return AddAt(checker, "import", alias->lineno, alias->col_offset,
                 "use what the module offers publicly", "the module %.80U is private", module);
  }
  return 0;
}

static int CheckImport(Checker* checker, stmt_ty stmt) {
  asdl_alias_seq* names = stmt->v.Import.names;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    Verdict verdict = ModuleVerdict(&checker->modules, alias->name);
    int status = verdict == kAllowed ? CheckBelowOs(checker, alias, alias->name)
                                     : RefuseImport(checker, alias, alias->name, verdict);
    if (status < 0 || CheckPublic(checker, alias, alias->name) < 0) return -1;
    if (CheckModuleName(checker, alias, alias->asname == NULL ? alias->name : alias->asname) < 0) {
      return -1;
    }
    if (alias->asname != NULL && CheckBound(checker, alias->asname) < 0) return -1;
  }
  return 0;
}

static int CheckStar(Checker* checker, alias_ty alias, PyObject* module) {
  int plain = StarIsPlain(&checker->modules, module);
  if (plain != 0) return plain < 0 ? -1 : 0;
  return AddAt(checker, "import", alias->lineno, alias->col_offset, "import the names you need",
               "everything of %.80U is not allowed", module);
}

static int CheckFromOne(Checker* checker, alias_ty alias, PyObject* module) {
  Member member;
  if (PyUnicode_READ_CHAR(alias->name, 0) == '*') return CheckStar(checker, alias, module);
  if (LookUpMember(&checker->modules, module, alias->name, &member) < 0) return -1;
  if (RefuseMember(checker, alias->lineno, alias->col_offset, module, alias->name, &member) < 0) {
    return -1;
  }
  PyObject* name = alias->asname == NULL ? alias->name : alias->asname;
  if (CheckBound(checker, name) < 0 ||
      CheckUnpickler(checker, alias->lineno, alias->col_offset, module, alias->name) < 0) {
    return -1;
  }
  if (member.kind != kModuleMember && member.kind != kSpecialMember) return 0;
  return CheckModuleName(checker, alias, name);
}

// `from urllib import parse`, where urllib.parse is allowed and urllib is not.
static int IsListed(Checker* checker, PyObject* module, PyObject* name) {
  PyObject* qualified = PyUnicode_FromFormat("%U.%U", module, name);
  if (qualified == NULL) return -1;
  int listed = LookUp(checker->rules->imports, qualified) == kAllowed;
  Py_DECREF(qualified);
  return listed;
}

static int CheckImportFrom(Checker* checker, stmt_ty stmt) {
  PyObject* module = stmt->v.ImportFrom.module;
  if (stmt->v.ImportFrom.level > 0 || module == NULL) {
    return FindingAdd(checker->findings, "import", stmt->lineno, stmt->col_offset,
                      "import a module of the standard library by its full name",
                      "relative imports are not allowed");
  }
  Verdict verdict = ModuleVerdict(&checker->modules, module);
  asdl_alias_seq* names = stmt->v.ImportFrom.names;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    int listed = verdict == kAllowed ? 1 : IsListed(checker, module, alias->name);
    if (listed < 0) return -1;
    if (!listed) return RefuseImport(checker, alias, module, verdict);
    if (CheckBelowOs(checker, alias, module) < 0 || CheckPublic(checker, alias, module) < 0 ||
        CheckFromOne(checker, alias, module) < 0) {
      return -1;
    }
  }
  return 0;
}

// Statements.

// `name = module` gives a module a second name, if that name can be followed.
static int IsAlias(Checker* checker, asdl_expr_seq* targets, expr_ty value) {
  if (value->kind != Name_kind && value->kind != Attribute_kind) return 0;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(targets); i++) {
    expr_ty target = asdl_seq_GET(targets, i);
    if (target->kind != Name_kind || !MayNameModule(checker, target->v.Name.id)) return 0;
  }
  return 1;
}

// A class pattern reads the attributes that __match_args__ names.
static int CheckMatchArgs(Checker* checker, expr_ty target, expr_ty value) {
  if (target->kind != Name_kind || target->v.Name.id != match_args_name) return 0;
  checker->done = target;  // Bound in any other way it is refused.
  asdl_expr_seq* items = value->kind == Tuple_kind || value->kind == List_kind
                             ? value->v.Tuple.elts  // Both kinds have the same layout.
                             : NULL;
  int literal = value->kind == Tuple_kind || value->kind == List_kind;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    expr_ty item = asdl_seq_GET(items, i);
    literal &= item->kind == Constant_kind && PyUnicode_CheckExact(item->v.Constant.value);
    if (literal && CheckAttributeName(checker, item, NULL, item->v.Constant.value) < 0) return -1;
  }
  return literal ? 0
                 : Refuse(checker, "attribute", value, "write the names as literals",
                          "%.80U needs its names as literals", match_args_name);
}

static int CheckAssign(Checker* checker, stmt_ty stmt) {
  asdl_expr_seq* targets = stmt->v.Assign.targets;
  if (IsAlias(checker, targets, stmt->v.Assign.value)) {
    checker->excused[0] = stmt->v.Assign.value;
  }
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(targets); i++) {
    if (CheckMatchArgs(checker, asdl_seq_GET(targets, i), stmt->v.Assign.value) < 0) return -1;
  }
  return 0;
}

// A field called `os` is read as x.os, which is checked at run time.
static int IsOwnField(PyObject* name) {
  return IsOwnAttribute(name) && !IsDunder(name);
}

static int CheckAnnAssign(Checker* checker, stmt_ty stmt) {
  expr_ty target = stmt->v.AnnAssign.target, value = stmt->v.AnnAssign.value;
  // A dataclass makes source text of its fields.
  if (checker->names.current->kind == kClassScope && target->kind == Name_kind &&
      target->v.Name.id != match_args_name && !IsOwnField(target->v.Name.id) &&
      CheckAttributeName(checker, target, NULL, target->v.Name.id) < 0) {
    return -1;
  }
  if (value == NULL) return 0;
  int named = target->kind == Name_kind && MayNameModule(checker, target->v.Name.id);
  if (named) checker->excused[0] = value;
  return CheckMatchArgs(checker, target, value);
}

// `x.obj += y` passes the value to y.__radd__ and so bypasses the function that reads it elsewhere.
static int CheckAugAssign(Checker* checker, stmt_ty stmt) {
  expr_ty target = stmt->v.AugAssign.target;
  if (target->kind != Attribute_kind) return 0;
  expr_ty value = stmt->v.AugAssign.value;
  if (value->kind != Constant_kind && value->kind != JoinedStr_kind &&
      CheckEvaluator(checker, target, target->v.Attribute.attr) < 0) {
    return -1;
  }
  if (!IsOwnAttribute(target->v.Attribute.attr)) return 0;
  return Refuse(checker, "attribute", target, "write it as an assignment: x.a = x.a + b",
                "the attribute %.80U is not allowed here", target->v.Attribute.attr);
}

// `case x.obj:` would pass it to the __eq__ of the matched object.
static int CheckCompared(Checker* checker, expr_ty value) {
  for (; value->kind == Attribute_kind; value = value->v.Attribute.value) {
    PyObject* name = value->v.Attribute.attr;
    if (CheckEvaluator(checker, value, name) < 0) return -1;
    if (IsOwnAttribute(name) &&
        Refuse(checker, "attribute", value, "compare with if, or with a variable of your own",
               "the attribute %.80U is not allowed here", name) < 0) {
      return -1;
    }
  }
  return 0;
}

static int CheckKeys(Checker* checker, asdl_expr_seq* keys) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(keys); i++) {
    if (CheckCompared(checker, asdl_seq_GET(keys, i)) < 0) return -1;
  }
  return 0;
}

static int CheckDeclared(Checker* checker, asdl_identifier_seq* names) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    if (CheckBound(checker, asdl_seq_GET(names, i)) < 0) return -1;
  }
  return 0;
}

static int CheckStmt(TreeVisitor* visitor, stmt_ty* slot) {
  Checker* checker = visitor->state;
  stmt_ty stmt = *slot;
  checker->line = stmt->lineno;
  checker->offset = stmt->col_offset;
  if (!(checker->rules->stmts >> stmt->kind & 1)) {
    return RefuseNode(checker, StmtName(stmt)) < 0 ? kVisitFailed : kVisitSkip;
  }
  switch (stmt->kind) {
    case Import_kind:
      return CheckImport(checker, stmt) < 0 ? kVisitFailed : kVisitSkip;
    case ImportFrom_kind:
      return CheckImportFrom(checker, stmt) < 0 ? kVisitFailed : kVisitSkip;
    case Assign_kind:
      return CheckAssign(checker, stmt);
    case AnnAssign_kind:
      return CheckAnnAssign(checker, stmt);
    case AugAssign_kind:
      return CheckAugAssign(checker, stmt);
    case Global_kind:
      return CheckDeclared(checker, stmt->v.Global.names);
    case If_kind:
    case While_kind:
      checker->excused[0] = stmt->v.If.test;
      return kVisitChildren;
    case Assert_kind:
      checker->excused[0] = stmt->v.Assert.test;
      return kVisitChildren;
    default:
      return kVisitChildren;
  }
}

// Some functions of the standard library evaluate the text of annotations.
static int CheckAnnotationText(Checker* checker, expr_ty expr) {
  PyObject* text = expr->v.Constant.value;
  if (!PyUnicode_CheckExact(text)) return 0;
  Py_ssize_t size = PyUnicode_GET_LENGTH(text);
  Py_ssize_t call = PyUnicode_FindChar(text, '(', 0, size, 1);
  int dunder = 0;
  for (Py_ssize_t i = 1; i < size; i++) {
    dunder |= PyUnicode_READ_CHAR(text, i) == '_' && PyUnicode_READ_CHAR(text, i - 1) == '_';
  }
  if (call < 0 && !dunder) return 0;
  return FindingAdd(checker->findings, "annotation", expr->lineno, expr->col_offset,
                    "write the name of a type", "this annotation is code");
}

static int CheckExpr(TreeVisitor* visitor, expr_ty* slot) {
  Checker* checker = visitor->state;
  expr_ty expr = *slot;
  if (expr == checker->done) return kVisitSkip;
  checker->line = expr->lineno;
  checker->offset = expr->col_offset;
  if (!(checker->rules->exprs >> expr->kind & 1)) {
    return RefuseNode(checker, ExprName(expr)) < 0 ? kVisitFailed : kVisitSkip;
  }
  switch (expr->kind) {
    case Name_kind:
      if (expr->v.Name.ctx != Load) return CheckBound(checker, expr->v.Name.id);
      return CheckValue(checker, expr);
    case Attribute_kind:
      return CheckValue(checker, expr) < 0 ? kVisitFailed : kVisitSkip;
    case Call_kind:
      return CheckCall(checker, expr);
    case Compare_kind:  // `numpy is None`
      if (asdl_seq_LEN(expr->v.Compare.ops) == 1 &&
          (asdl_seq_GET(expr->v.Compare.ops, 0) == Is ||
           asdl_seq_GET(expr->v.Compare.ops, 0) == IsNot)) {
        checker->excused[0] = expr->v.Compare.left;
        checker->excused[1] = asdl_seq_GET(expr->v.Compare.comparators, 0);
      }
      return kVisitChildren;
    case UnaryOp_kind:
      if (expr->v.UnaryOp.op == Not) checker->excused[0] = expr->v.UnaryOp.operand;
      return kVisitChildren;
    case IfExp_kind:
      checker->excused[0] = expr->v.IfExp.test;
      return kVisitChildren;
    case Constant_kind:
      return visitor->annotations > 0 ? CheckAnnotationText(checker, expr) : kVisitChildren;
    default:
      return kVisitChildren;
  }
}

static int CheckPattern(TreeVisitor* visitor, pattern_ty pattern) {
  Checker* checker = visitor->state;
  checker->line = pattern->lineno;
  checker->offset = pattern->col_offset;
  if (!(checker->rules->patterns >> pattern->kind & 1)) {
    return RefuseNode(checker, PatternName(pattern));
  }
  switch (pattern->kind) {
    case MatchClass_kind:
      return CheckCompared(checker, pattern->v.MatchClass.cls) < 0
                 ? -1
                 : CheckClassPattern(checker, pattern);
    case MatchMapping_kind:
      return CheckKeys(checker, pattern->v.MatchMapping.keys);
    case MatchValue_kind:
      return CheckCompared(checker, pattern->v.MatchValue.value);
    default:
      return 0;
  }
}

static int CheckBind(TreeVisitor* visitor, PyObject* name) {
  return CheckBound(visitor->state, name);
}

static int Open(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  Checker* checker = visitor->state;
  checker->classes += kind == kClassScope;
  return ScopeOpen(&checker->names, kind, node);
}

static void Close(TreeVisitor* visitor) {
  Checker* checker = visitor->state;
  checker->classes -= checker->names.current->kind == kClassScope;
  ScopeClose(&checker->names);
}

int CheckTree(mod_ty tree, const CheckOptions* options, Findings* findings) {
  Checker checker = {.options = options,
                     .modules = options->modules,
                     .rules = options->modules.rules,
                     .findings = findings};
  TreeVisitor visitor = {.stmt = CheckStmt,
                         .expr = CheckExpr,
                         .pattern = CheckPattern,
                         .bind = CheckBind,
                         .open = Open,
                         .close = Close,
                         .state = &checker};
  checker.visitor = &visitor;
  NamesInit(&checker.names, options->modules.arena);
  int status = DeclareNames(&checker.names, &checker.modules, tree->v.Module.body);
  if (status == 0) status = VisitStmts(&visitor, tree->v.Module.body);
  Py_XDECREF(checker.modules.imported);
  return status;
}
