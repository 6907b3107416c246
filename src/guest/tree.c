#include "guest/tree.h"

#define TRY_VISIT(expression)        \
  do {                               \
    if ((expression) < 0) return -1; \
  } while (0)

static int VisitExprs(TreeVisitor* visitor, asdl_expr_seq* exprs) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(exprs); i++) {
    TRY_VISIT(VisitExpr(visitor, &exprs->typed_elements[i]));
  }
  return 0;
}

static int Bind(TreeVisitor* visitor, PyObject* name) {
  return name == NULL || visitor->bind == NULL ? 0 : visitor->bind(visitor, name);
}

static int Enter(TreeVisitor* visitor) {
  if (++visitor->depth <= CAISSON_MAX_TREE_DEPTH) return 0;
  PyErr_SetString(PyExc_RecursionError, "the code is nested too deeply");
  return -1;
}

static int VisitKeywords(TreeVisitor* visitor, asdl_keyword_seq* keywords) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(keywords); i++) {
    TRY_VISIT(VisitExpr(visitor, &asdl_seq_GET(keywords, i)->value));
  }
  return 0;
}

static int Open(TreeVisitor* visitor, ScopeKind kind, const void* node) {
  return visitor->open == NULL ? 0 : visitor->open(visitor, kind, node);
}

static int Close(TreeVisitor* visitor) {
  if (visitor->close != NULL) visitor->close(visitor);
  return 0;
}

// Visits a comprehension and its one or two elements (`second` may be null).
static int VisitComprehension(TreeVisitor* visitor, expr_ty node,
                              asdl_comprehension_seq* generators, expr_ty* first, expr_ty* second) {
  TRY_VISIT(VisitExpr(visitor, &asdl_seq_GET(generators, 0)->iter));
  TRY_VISIT(Open(visitor, kComprehensionScope, node));
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(generators); i++) {
    comprehension_ty generator = asdl_seq_GET(generators, i);
    TRY_VISIT(VisitExpr(visitor, &generator->target));
    if (i > 0) TRY_VISIT(VisitExpr(visitor, &generator->iter));
    TRY_VISIT(VisitExprs(visitor, generator->ifs));
  }
  TRY_VISIT(VisitExpr(visitor, first));
  if (second != NULL) TRY_VISIT(VisitExpr(visitor, second));
  return Close(visitor);
}

static int VisitAnnotation(TreeVisitor* visitor, expr_ty* slot) {
  visitor->annotations++;
  TRY_VISIT(VisitExpr(visitor, slot));
  visitor->annotations--;
  return 0;
}

static int VisitArgs(TreeVisitor* visitor, asdl_arg_seq* args) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    TRY_VISIT(VisitAnnotation(visitor, &asdl_seq_GET(args, i)->annotation));
  }
  return 0;
}

// Visits the parts that are evaluated where the function is defined.
static int VisitArguments(TreeVisitor* visitor, arguments_ty arguments) {
  TRY_VISIT(VisitArgs(visitor, arguments->posonlyargs));
  TRY_VISIT(VisitArgs(visitor, arguments->args));
  TRY_VISIT(VisitArgs(visitor, arguments->kwonlyargs));
  if (arguments->vararg != NULL) {
    TRY_VISIT(VisitAnnotation(visitor, &arguments->vararg->annotation));
  }
  if (arguments->kwarg != NULL) TRY_VISIT(VisitAnnotation(visitor, &arguments->kwarg->annotation));
  TRY_VISIT(VisitExprs(visitor, arguments->kw_defaults));
  return VisitExprs(visitor, arguments->defaults);
}

static int BindArgs(TreeVisitor* visitor, asdl_arg_seq* args) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    TRY_VISIT(Bind(visitor, asdl_seq_GET(args, i)->arg));
  }
  return 0;
}

static int OpenFunction(TreeVisitor* visitor, const void* node, arguments_ty arguments) {
  TRY_VISIT(Open(visitor, kFunctionScope, node));
  TRY_VISIT(BindArgs(visitor, arguments->posonlyargs));
  TRY_VISIT(BindArgs(visitor, arguments->args));
  TRY_VISIT(BindArgs(visitor, arguments->kwonlyargs));
  if (arguments->vararg != NULL) TRY_VISIT(Bind(visitor, arguments->vararg->arg));
  return arguments->kwarg == NULL ? 0 : Bind(visitor, arguments->kwarg->arg);
}

static int VisitExprChildren(TreeVisitor* visitor, expr_ty expr) {
  switch (expr->kind) {
    case BoolOp_kind:
      return VisitExprs(visitor, expr->v.BoolOp.values);
    case NamedExpr_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.NamedExpr.target));
      return VisitExpr(visitor, &expr->v.NamedExpr.value);
    case BinOp_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.BinOp.left));
      return VisitExpr(visitor, &expr->v.BinOp.right);
    case UnaryOp_kind:
      return VisitExpr(visitor, &expr->v.UnaryOp.operand);
    case Lambda_kind:
      TRY_VISIT(VisitArguments(visitor, expr->v.Lambda.args));
      TRY_VISIT(OpenFunction(visitor, expr, expr->v.Lambda.args));
      TRY_VISIT(VisitExpr(visitor, &expr->v.Lambda.body));
      return Close(visitor);
    case IfExp_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.IfExp.test));
      TRY_VISIT(VisitExpr(visitor, &expr->v.IfExp.body));
      return VisitExpr(visitor, &expr->v.IfExp.orelse);
    case Dict_kind:
      TRY_VISIT(VisitExprs(visitor, expr->v.Dict.keys));
      return VisitExprs(visitor, expr->v.Dict.values);
    case Set_kind:
      return VisitExprs(visitor, expr->v.Set.elts);
    case ListComp_kind:
    case SetComp_kind:
    case GeneratorExp_kind:  // The three kinds have the same layout.
      return VisitComprehension(visitor, expr, expr->v.ListComp.generators, &expr->v.ListComp.elt,
                                NULL);
    case DictComp_kind:
      return VisitComprehension(visitor, expr, expr->v.DictComp.generators, &expr->v.DictComp.key,
                                &expr->v.DictComp.value);
    case Await_kind:
      return VisitExpr(visitor, &expr->v.Await.value);
    case Yield_kind:
      return VisitExpr(visitor, &expr->v.Yield.value);
    case YieldFrom_kind:
      return VisitExpr(visitor, &expr->v.YieldFrom.value);
    case Compare_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.Compare.left));
      return VisitExprs(visitor, expr->v.Compare.comparators);
    case Call_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.Call.func));
      TRY_VISIT(VisitExprs(visitor, expr->v.Call.args));
      return VisitKeywords(visitor, expr->v.Call.keywords);
    case FormattedValue_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.FormattedValue.value));
      return VisitExpr(visitor, &expr->v.FormattedValue.format_spec);
    case JoinedStr_kind:
      return VisitExprs(visitor, expr->v.JoinedStr.values);
    case Attribute_kind:
      return VisitExpr(visitor, &expr->v.Attribute.value);
    case Subscript_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.Subscript.value));
      return VisitExpr(visitor, &expr->v.Subscript.slice);
    case Starred_kind:
      return VisitExpr(visitor, &expr->v.Starred.value);
    case List_kind:
      return VisitExprs(visitor, expr->v.List.elts);
    case Tuple_kind:
      return VisitExprs(visitor, expr->v.Tuple.elts);
    case Slice_kind:
      TRY_VISIT(VisitExpr(visitor, &expr->v.Slice.lower));
      TRY_VISIT(VisitExpr(visitor, &expr->v.Slice.upper));
      return VisitExpr(visitor, &expr->v.Slice.step);
    case Constant_kind:
    case Name_kind:
      return 0;
  }
  PyErr_SetString(PyExc_SystemError, "unknown kind of expression");  // I7: refuse.
  return -1;
}

int VisitExpr(TreeVisitor* visitor, expr_ty* slot) {
  if (*slot == NULL) return 0;
  int what = visitor->expr == NULL ? kVisitChildren : visitor->expr(visitor, slot);
  if (what != kVisitChildren) return what < 0 ? -1 : 0;
  TRY_VISIT(Enter(visitor));
  TRY_VISIT(VisitExprChildren(visitor, *slot));
  visitor->depth--;
  return 0;
}

static int VisitPattern(TreeVisitor* visitor, pattern_ty pattern);

static int VisitPatterns(TreeVisitor* visitor, asdl_pattern_seq* patterns) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(patterns); i++) {
    TRY_VISIT(VisitPattern(visitor, asdl_seq_GET(patterns, i)));
  }
  return 0;
}

static int VisitPatternChildren(TreeVisitor* visitor, pattern_ty pattern) {
  switch (pattern->kind) {
    case MatchValue_kind:
      return VisitExpr(visitor, &pattern->v.MatchValue.value);
    case MatchSingleton_kind:
      return 0;
    case MatchSequence_kind:
      return VisitPatterns(visitor, pattern->v.MatchSequence.patterns);
    case MatchMapping_kind:
      TRY_VISIT(VisitExprs(visitor, pattern->v.MatchMapping.keys));
      TRY_VISIT(VisitPatterns(visitor, pattern->v.MatchMapping.patterns));
      return Bind(visitor, pattern->v.MatchMapping.rest);
    case MatchClass_kind:
      TRY_VISIT(VisitExpr(visitor, &pattern->v.MatchClass.cls));
      TRY_VISIT(VisitPatterns(visitor, pattern->v.MatchClass.patterns));
      return VisitPatterns(visitor, pattern->v.MatchClass.kwd_patterns);
    case MatchStar_kind:
      return Bind(visitor, pattern->v.MatchStar.name);
    case MatchAs_kind:
      if (pattern->v.MatchAs.pattern != NULL) {
        TRY_VISIT(VisitPattern(visitor, pattern->v.MatchAs.pattern));
      }
      return Bind(visitor, pattern->v.MatchAs.name);
    case MatchOr_kind:
      return VisitPatterns(visitor, pattern->v.MatchOr.patterns);
  }
  PyErr_SetString(PyExc_SystemError, "unknown kind of pattern");  // I7: refuse.
  return -1;
}

static int VisitPattern(TreeVisitor* visitor, pattern_ty pattern) {
  if (visitor->pattern != NULL) TRY_VISIT(visitor->pattern(visitor, pattern));
  TRY_VISIT(Enter(visitor));
  TRY_VISIT(VisitPatternChildren(visitor, pattern));
  visitor->depth--;
  return 0;
}

static int VisitAliases(TreeVisitor* visitor, asdl_alias_seq* names) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(names); i++) {
    alias_ty alias = asdl_seq_GET(names, i);
    if (alias->asname != NULL) {
      TRY_VISIT(Bind(visitor, alias->asname));
      continue;
    }
    // `import a.b` binds a.
    Py_ssize_t size = PyUnicode_GET_LENGTH(alias->name);
    Py_ssize_t dot = PyUnicode_FindChar(alias->name, '.', 0, size, 1);
    if (dot < 0) {
      TRY_VISIT(Bind(visitor, alias->name));
      continue;
    }
    PyObject* head = PyUnicode_Substring(alias->name, 0, dot);
    int status = head == NULL ? -1 : Bind(visitor, head);
    Py_XDECREF(head);
    TRY_VISIT(status);
  }
  return 0;
}

static int VisitItems(TreeVisitor* visitor, asdl_withitem_seq* items) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(items); i++) {
    withitem_ty item = asdl_seq_GET(items, i);
    TRY_VISIT(VisitExpr(visitor, &item->context_expr));
    TRY_VISIT(VisitExpr(visitor, &item->optional_vars));
  }
  return 0;
}

static int VisitHandlers(TreeVisitor* visitor, asdl_excepthandler_seq* handlers) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(handlers); i++) {
    excepthandler_ty handler = asdl_seq_GET(handlers, i);
    TRY_VISIT(VisitExpr(visitor, &handler->v.ExceptHandler.type));
    TRY_VISIT(Bind(visitor, handler->v.ExceptHandler.name));
    TRY_VISIT(VisitStmts(visitor, handler->v.ExceptHandler.body));
  }
  return 0;
}

static int VisitCases(TreeVisitor* visitor, asdl_match_case_seq* cases) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(cases); i++) {
    match_case_ty one = asdl_seq_GET(cases, i);
    TRY_VISIT(VisitPattern(visitor, one->pattern));
    TRY_VISIT(VisitExpr(visitor, &one->guard));
    TRY_VISIT(VisitStmts(visitor, one->body));
  }
  return 0;
}

// Kinds with the same layout (the async variants, try and try*) share a case.
static int VisitStmtChildren(TreeVisitor* visitor, stmt_ty stmt) {
  switch (stmt->kind) {
    case FunctionDef_kind:
    case AsyncFunctionDef_kind:
      TRY_VISIT(VisitExprs(visitor, stmt->v.FunctionDef.decorator_list));
      TRY_VISIT(VisitArguments(visitor, stmt->v.FunctionDef.args));
      TRY_VISIT(VisitAnnotation(visitor, &stmt->v.FunctionDef.returns));
      TRY_VISIT(OpenFunction(visitor, stmt, stmt->v.FunctionDef.args));
      TRY_VISIT(VisitStmts(visitor, stmt->v.FunctionDef.body));
      return Close(visitor);
    case ClassDef_kind:
      TRY_VISIT(VisitExprs(visitor, stmt->v.ClassDef.decorator_list));
      TRY_VISIT(VisitExprs(visitor, stmt->v.ClassDef.bases));
      TRY_VISIT(VisitKeywords(visitor, stmt->v.ClassDef.keywords));
      TRY_VISIT(Open(visitor, kClassScope, stmt));
      TRY_VISIT(VisitStmts(visitor, stmt->v.ClassDef.body));
      return Close(visitor);
    case Return_kind:
      return VisitExpr(visitor, &stmt->v.Return.value);
    case Delete_kind:
      return VisitExprs(visitor, stmt->v.Delete.targets);
    case Assign_kind:
      TRY_VISIT(VisitExprs(visitor, stmt->v.Assign.targets));
      return VisitExpr(visitor, &stmt->v.Assign.value);
    case AugAssign_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.AugAssign.target));
      return VisitExpr(visitor, &stmt->v.AugAssign.value);
    case AnnAssign_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.AnnAssign.target));
      TRY_VISIT(VisitAnnotation(visitor, &stmt->v.AnnAssign.annotation));
      return VisitExpr(visitor, &stmt->v.AnnAssign.value);
    case For_kind:
    case AsyncFor_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.For.target));
      TRY_VISIT(VisitExpr(visitor, &stmt->v.For.iter));
      TRY_VISIT(VisitStmts(visitor, stmt->v.For.body));
      return VisitStmts(visitor, stmt->v.For.orelse);
    case While_kind:
    case If_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.If.test));
      TRY_VISIT(VisitStmts(visitor, stmt->v.If.body));
      return VisitStmts(visitor, stmt->v.If.orelse);
    case With_kind:
    case AsyncWith_kind:
      TRY_VISIT(VisitItems(visitor, stmt->v.With.items));
      return VisitStmts(visitor, stmt->v.With.body);
    case Match_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.Match.subject));
      return VisitCases(visitor, stmt->v.Match.cases);
    case Raise_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.Raise.exc));
      return VisitExpr(visitor, &stmt->v.Raise.cause);
    case Try_kind:
    case TryStar_kind:
      TRY_VISIT(VisitStmts(visitor, stmt->v.Try.body));
      TRY_VISIT(VisitHandlers(visitor, stmt->v.Try.handlers));
      TRY_VISIT(VisitStmts(visitor, stmt->v.Try.orelse));
      return VisitStmts(visitor, stmt->v.Try.finalbody);
    case Assert_kind:
      TRY_VISIT(VisitExpr(visitor, &stmt->v.Assert.test));
      return VisitExpr(visitor, &stmt->v.Assert.msg);
    case Import_kind:
      return VisitAliases(visitor, stmt->v.Import.names);
    case ImportFrom_kind:
      return VisitAliases(visitor, stmt->v.ImportFrom.names);
    case Expr_kind:
      return VisitExpr(visitor, &stmt->v.Expr.value);
    case Global_kind:
    case Nonlocal_kind:
    case Pass_kind:
    case Break_kind:
    case Continue_kind:
      return 0;
  }
  PyErr_SetString(PyExc_SystemError, "unknown kind of statement");  // I7: refuse.
  return -1;
}

static int VisitStmt(TreeVisitor* visitor, stmt_ty* slot) {
  stmt_ty stmt = *slot;
  int what = visitor->stmt == NULL ? kVisitChildren : visitor->stmt(visitor, slot);
  if (stmt->kind == FunctionDef_kind || stmt->kind == AsyncFunctionDef_kind) {
    TRY_VISIT(Bind(visitor, stmt->v.FunctionDef.name));
  } else if (stmt->kind == ClassDef_kind) {
    TRY_VISIT(Bind(visitor, stmt->v.ClassDef.name));
  }
  if (what != kVisitChildren) return what < 0 ? -1 : 0;
  TRY_VISIT(Enter(visitor));
  TRY_VISIT(VisitStmtChildren(visitor, *slot));
  visitor->depth--;
  return 0;
}

int VisitStmts(TreeVisitor* visitor, asdl_stmt_seq* statements) {
  asdl_stmt_seq* outer = visitor->block;
  visitor->block = statements;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(statements); i++) {
    TRY_VISIT(VisitStmt(visitor, &statements->typed_elements[i]));
  }
  visitor->block = outer;
  return 0;
}

int WrapInCall(expr_ty* value, PyObject* function, PyArena* arena) {
  expr_ty inner = *value;
  // The compiler warns about constants that are called, so the method is called instead.
  PyObject* method = PyUnicode_InternFromString("__call__");
  if (method == NULL) return -1;
  if (_PyArena_AddPyObject(arena, method) < 0) {
    Py_DECREF(method);
    return -1;
  }
  asdl_expr_seq* args = _Py_asdl_expr_seq_new(1, arena);
  expr_ty constant = _PyAST_Constant(function, NULL, inner->lineno, inner->col_offset,
                                     inner->end_lineno, inner->end_col_offset, arena);
  if (args == NULL || constant == NULL) return -1;
  expr_ty callee = _PyAST_Attribute(constant, method, Load, inner->lineno, inner->col_offset,
                                    inner->end_lineno, inner->end_col_offset, arena);
  if (callee == NULL) return -1;
  args->typed_elements[0] = inner;
  *value = _PyAST_Call(callee, args, NULL, inner->lineno, inner->col_offset, inner->end_lineno,
                       inner->end_col_offset, arena);
  return *value == NULL ? -1 : 0;
}
