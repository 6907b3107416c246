"""Finds out which modules the code imports, and which of them are missing here (guest/policy/imports.h).
"""

import ast
import sys

from caisson.runner import walk

_CAUGHT = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
_HINT = (
    "ask the operator to install it and allow it (engine.native_packages), or write it with the standard library"
)


def _is_named(node, names):
    return getattr(node, "id", None) in names or getattr(node, "attr", None) in names


def _catches(handler):
    """Returns whether the handler catches the error that a missing module raises."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_is_named(one, _CAUGHT) for one in types)


class _Finder(walk.Walk):
    def __init__(self, judgement, request, is_missing):
        self._judgement = judgement
        self._native = request.native_packages
        self._is_missing = is_missing
        is_strict = request.policy != 0
        # Code that changes where modules come from may find modules that are missing here.
        knows_better = not is_strict and b"sys.path" in request.code
        self._refuses = (is_strict or self._native is not None) and not knows_better
        self._by_call = not is_strict
        self._guards = 0  # Number of enclosing try statements that catch a failing import.

    def _sort(self, top):
        """Classifies a module seen for the first time: present here, in engine native, or nowhere."""
        self._judgement.imports.append(top)
        if top in sys.modules or not self._is_missing(top):
            return
        if self._native is not None and top in self._native:
            self._judgement.native.append(top)
        else:
            self._judgement.absent.add(top)

    def _note(self, dotted, node):
        top = dotted.partition(".")[0]
        if top not in self._judgement.imports:
            self._sort(top)
        if top in self._judgement.absent and self._refuses and not self._guards:
            self._judgement.findings.add("import", node, _HINT, f"{top:.80} is not installed")

    def stmt(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._note(alias.name, alias if hasattr(alias, "lineno") else node)
            return False
        if isinstance(node, ast.ImportFrom):
            if not node.level and node.module is not None:
                self._note(node.module, node)
            return False
        if walk.kind_of(node) not in ("Try", "TryStar"):
            return True
        guards = any(_catches(handler) for handler in node.handlers)
        self._guards += guards
        self.visit_stmts(node.body)  # Only the body is guarded.
        self._guards -= guards
        for handler in node.handlers:
            self.visit_stmts(handler.body)
        self.visit_stmts(node.orelse)
        self.visit_stmts(node.finalbody)
        return False

    def expr(self, node):
        if not self._by_call:
            return False
        if isinstance(node, ast.Call) and node.args:
            first = node.args[0]
            text = first.value if isinstance(first, ast.Constant) else None
            if _is_named(node.func, ("import_module", "__import__")) and type(text) is str and text:
                self._note(text, node)
        return True


def find(judgement, tree, request, is_missing):
    try:
        _Finder(judgement, request, is_missing).visit_stmts(tree.body)
    except walk.Unknown:
        pass  # Under the strict policy the check refuses it; otherwise it is allowed.
