"""Walks the syntax tree in the order it is evaluated and with Python's scopes, as guest/tree.h does.

What it does not know it refuses (I7): a kind of node, or a part of one, that newer versions have.
"""

import ast

MODULE, FUNCTION, CLASS, COMPREHENSION = range(4)

# The parts of each kind of node that are walked or looked at; `ctx` and operators have none of
# their own.
_KNOWN = {
    kind: frozenset(fields.split())
    for kind, fields in {
        "FunctionDef": "name args body decorator_list returns type_comment",
        "AsyncFunctionDef": "name args body decorator_list returns type_comment",
        "ClassDef": "name bases keywords body decorator_list",
        "Return": "value",
        "Delete": "targets",
        "Assign": "targets value type_comment",
        "AugAssign": "target op value",
        "AnnAssign": "target annotation value simple",
        "For": "target iter body orelse type_comment",
        "AsyncFor": "target iter body orelse type_comment",
        "While": "test body orelse",
        "If": "test body orelse",
        "With": "items body type_comment",
        "AsyncWith": "items body type_comment",
        "Match": "subject cases",
        "Raise": "exc cause",
        "Try": "body handlers orelse finalbody",
        "TryStar": "body handlers orelse finalbody",
        "Assert": "test msg",
        "Import": "names",
        "ImportFrom": "module names level",
        "Global": "names",
        "Nonlocal": "names",
        "Expr": "value",
        "Pass": "",
        "Break": "",
        "Continue": "",
        "BoolOp": "op values",
        "NamedExpr": "target value",
        "BinOp": "left op right",
        "UnaryOp": "op operand",
        "Lambda": "args body",
        "IfExp": "test body orelse",
        "Dict": "keys values",
        "Set": "elts",
        "ListComp": "elt generators",
        "SetComp": "elt generators",
        "DictComp": "key value generators",
        "GeneratorExp": "elt generators",
        "Await": "value",
        "Yield": "value",
        "YieldFrom": "value",
        "Compare": "left ops comparators",
        "Call": "func args keywords",
        "FormattedValue": "value conversion format_spec",
        "JoinedStr": "values",
        "Constant": "value kind",
        "Attribute": "value attr ctx",
        "Subscript": "value slice ctx",
        "Starred": "value ctx",
        "Name": "id ctx",
        "List": "elts ctx",
        "Tuple": "elts ctx",
        "Slice": "lower upper step",
        "MatchValue": "value",
        "MatchSingleton": "value",
        "MatchSequence": "patterns",
        "MatchMapping": "keys patterns rest",
        "MatchClass": "cls patterns kwd_attrs kwd_patterns",
        "MatchStar": "name",
        "MatchAs": "pattern name",
        "MatchOr": "patterns",
    }.items()
}

# Expressions whose parts are all there is to them, in the order of the walk.
_PLAIN = {
    "BoolOp": ("values",),
    "NamedExpr": ("target", "value"),
    "BinOp": ("left", "right"),
    "UnaryOp": ("operand",),
    "IfExp": ("test", "body", "orelse"),
    "Dict": ("keys", "values"),
    "Set": ("elts",),
    "Await": ("value",),
    "Yield": ("value",),
    "YieldFrom": ("value",),
    "Compare": ("left", "comparators"),
    "FormattedValue": ("value", "format_spec"),
    "JoinedStr": ("values",),
    "Attribute": ("value",),
    "Subscript": ("value", "slice"),
    "Starred": ("value",),
    "List": ("elts",),
    "Tuple": ("elts",),
    "Slice": ("lower", "upper", "step"),
    "Constant": (),
    "Name": (),
    "MatchValue": ("value",),
    "MatchSingleton": (),
    "Return": ("value",),
    "Delete": ("targets",),
    "Assign": ("targets", "value"),
    "AugAssign": ("target", "value"),
    "For": ("target", "iter", "body", "orelse"),
    "AsyncFor": ("target", "iter", "body", "orelse"),
    "While": ("test", "body", "orelse"),
    "If": ("test", "body", "orelse"),
    "Raise": ("exc", "cause"),
    "Assert": ("test", "msg"),
    "Expr": ("value",),
    "Global": (),
    "Nonlocal": (),
    "Pass": (),
    "Break": (),
    "Continue": (),
}


class Unknown(Exception):
    """A node that no rule is known for."""

    def __init__(self, node, what):
        super().__init__(what)
        self.node = node


def kind_of(node):
    return type(node).__name__


def _require_known(node):
    known = _KNOWN.get(kind_of(node))
    if known is None:
        raise Unknown(node, kind_of(node))
    for field in node._fields:
        if field not in known and getattr(node, field, None):
            raise Unknown(node, f"{field} of {kind_of(node)}")


class Walk:
    """Subclasses say what happens at each node: `stmt` and `expr` return whether its parts are to be visited."""

    block = ()  # The statements that the current one is among.
    annotations = 0  # How many annotations we are inside of.

    def stmt(self, node):
        return True

    def expr(self, node):
        return True

    def pattern(self, node):
        pass

    def bind(self, name):
        pass

    def open(self, kind, node):
        pass

    def close(self):
        pass

    def visit_stmts(self, nodes):
        outer, self.block = self.block, nodes
        for node in nodes:
            _require_known(node)
            goes_on = self.stmt(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.bind(node.name)
            if goes_on:
                self._parts(node)
        self.block = outer

    def visit(self, node):
        """An expression, or nothing, or a list of these."""
        if node is None:
            return
        if isinstance(node, list):
            for one in node:
                self.visit(one)
            return
        _require_known(node)
        if self.expr(node):
            self._parts(node)

    def visit_pattern(self, node):
        _require_known(node)
        self.pattern(node)
        self._parts(node)

    def _parts(self, node):
        kind = kind_of(node)
        plain = _PLAIN.get(kind)
        if plain is None:
            getattr(self, "_" + kind)(node)
            return
        for field in plain:
            part = getattr(node, field)
            if field in ("body", "orelse") and isinstance(part, list):
                self.visit_stmts(part)
            else:
                self.visit(part)

    # Nodes with scopes, names or an order of their own.

    def _annotation(self, node):
        self.annotations += 1
        self.visit(node)
        self.annotations -= 1

    def _Call(self, node):
        self.visit(node.func)
        self.visit(node.args)
        self.visit([keyword.value for keyword in node.keywords])

    def _AnnAssign(self, node):
        self.visit(node.target)
        self._annotation(node.annotation)
        self.visit(node.value)

    @staticmethod
    def _all_arguments(arguments):
        rest = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]

    def _arguments(self, arguments):
        """What is evaluated where the function is defined."""
        for argument in self._all_arguments(arguments):
            self._annotation(argument.annotation)
        self.visit(arguments.kw_defaults)
        self.visit(arguments.defaults)

    def _open_function(self, node):
        self.open(FUNCTION, node)
        for argument in self._all_arguments(node.args):
            self.bind(argument.arg)

    def _FunctionDef(self, node):
        self.visit(node.decorator_list)
        self._arguments(node.args)
        self._annotation(node.returns)
        self._open_function(node)
        self.visit_stmts(node.body)
        self.close()

    _AsyncFunctionDef = _FunctionDef

    def _Lambda(self, node):
        self._arguments(node.args)
        self._open_function(node)
        self.visit(node.body)
        self.close()

    def _ClassDef(self, node):
        self.visit(node.decorator_list)
        self.visit(node.bases)
        self.visit([keyword.value for keyword in node.keywords])
        self.open(CLASS, node)
        self.visit_stmts(node.body)
        self.close()

    def _comprehension(self, node, *elements):
        self.visit(node.generators[0].iter)
        self.open(COMPREHENSION, node)
        for i, generator in enumerate(node.generators):
            self.visit(generator.target)
            if i > 0:
                self.visit(generator.iter)
            self.visit(generator.ifs)
        self.visit(list(elements))
        self.close()

    def _ListComp(self, node):
        self._comprehension(node, node.elt)

    _SetComp = _GeneratorExp = _ListComp

    def _DictComp(self, node):
        self._comprehension(node, node.key, node.value)

    def _With(self, node):
        for item in node.items:
            self.visit(item.context_expr)
            self.visit(item.optional_vars)
        self.visit_stmts(node.body)

    _AsyncWith = _With

    def _Try(self, node):
        self.visit_stmts(node.body)
        for handler in node.handlers:
            self.visit(handler.type)
            if handler.name is not None:
                self.bind(handler.name)
            self.visit_stmts(handler.body)
        self.visit_stmts(node.orelse)
        self.visit_stmts(node.finalbody)

    _TryStar = _Try

    def _Import(self, node):
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0])

    _ImportFrom = _Import

    def _Match(self, node):
        self.visit(node.subject)
        for case in node.cases:
            self.visit_pattern(case.pattern)
            self.visit(case.guard)
            self.visit_stmts(case.body)

    def _patterns(self, nodes):
        for node in nodes:
            self.visit_pattern(node)

    def _MatchSequence(self, node):
        self._patterns(node.patterns)

    _MatchOr = _MatchSequence

    def _MatchMapping(self, node):
        self.visit(node.keys)
        self._patterns(node.patterns)
        if node.rest is not None:
            self.bind(node.rest)

    def _MatchClass(self, node):
        self.visit(node.cls)
        self._patterns(node.patterns)
        self._patterns(node.kwd_patterns)

    def _MatchStar(self, node):
        if node.name is not None:
            self.bind(node.name)

    def _MatchAs(self, node):
        if node.pattern is not None:
            self.visit_pattern(node.pattern)
        if node.name is not None:
            self.bind(node.name)
