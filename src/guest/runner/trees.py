"""Rewrites the tree of the code, once it was judged: what it may see of objects, and where its value goes."""

import ast

from caisson.runner.tools import EVALUATORS, GIVEN, OWN, OWN_ATTRIBUTES

RESULT = "<result>"  # Names that code cannot write.
BODY = "<module>"  # As tracebacks call it.

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def called(name, value):
    """<name>(value)"""
    function = ast.copy_location(ast.Name(name, ast.Load()), value)
    return ast.copy_location(ast.Call(function, [value], []), value)


def given(value):
    """await <given>(value)"""
    return ast.copy_location(ast.Await(called(GIVEN, value)), value)


class _OwnAttributes(ast.NodeTransformer):
    _called = None

    def visit_Call(self, node):
        self._called = node.func
        return self.generic_visit(node)

    def visit_Attribute(self, node):
        is_read = node.attr in OWN_ATTRIBUTES or node.attr in EVALUATORS and node is not self._called
        is_read = is_read and isinstance(node.ctx, ast.Load)
        self.generic_visit(node)
        return called(OWN.format(node.attr), node.value) if is_read else node


def rewrite_own_attributes(tree):
    """x.__dict__ and its like, where they are read, become calls that show what is the code's own
    (guest/policy/own_attributes.h)."""
    _OwnAttributes().visit(tree)


# The value of the last expression, or of a top-level return.


def _top_level(nodes):
    """All nodes outside of functions, classes and lambdas; those themselves too."""
    todo = list(reversed(nodes))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*_SCOPES, ast.Lambda)):
            todo += reversed(list(ast.iter_child_nodes(node)))


def _syntax_error(file, node, message):
    return SyntaxError(message, (file, node.lineno, node.col_offset + 1, None))


def rewrite_for_result(tree, file):
    """Whether the code becomes a function called BODY, whose value is the result; else RESULT is bound to it."""
    if any(isinstance(node, ast.Return) for node in _top_level(tree.body)):
        _wrap_in_function(tree, file)
        return True
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        target = ast.copy_location(ast.Name(RESULT, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return False


class _WithoutAnnotations(ast.NodeTransformer):
    """In a function a global cannot be annotated, so `x: int = 1` becomes `x = 1`."""

    def _skip(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _skip

    def visit_AnnAssign(self, node):
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _is_async(node):
    return isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)) or any(
        generator.is_async for generator in getattr(node, "generators", ())
    )


def _bound_names(node):
    """Names that this node by itself binds."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, _SCOPES):
        return [node.name]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    names = [getattr(node, "name", None), getattr(node, "rest", None)]  # Handlers and patterns.
    return [name for name in names if isinstance(name, str)]


def _prologue(body):
    """How many statements must stay at the top of the module: a docstring and `from __future__`."""
    count = 0
    for i, node in enumerate(body):
        is_docstring = i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if is_future:
            count = i + 1
        if not is_docstring and not is_future:
            break
    return count


def _wrap_in_function(tree, file):
    tree = _WithoutAnnotations().visit(tree)
    count = _prologue(tree.body)
    is_async, names = False, set()
    for node in _top_level(tree.body):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise _syntax_error(file, node, "'yield' outside function")
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            raise _syntax_error(
                file, node, "'import *' cannot be used in code that has a top-level 'return'"
            )
        is_async = is_async or _is_async(node)
    for node in _top_level(tree.body[count:]):
        names.update(_bound_names(node))
    body = tree.body[count:]
    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    if names:
        body.insert(0, ast.Global(sorted(names), lineno=1, col_offset=0))
    # Parsed rather than made: which fields a function has depends on the version.
    function = ast.parse(("async " if is_async else "") + "def f(): pass").body[0]
    function.name, function.body = BODY, body
    ast.fix_missing_locations(function)
    tree.body[count:] = [function]
