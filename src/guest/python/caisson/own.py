"""Separates objects of the code from Python's own.

The strict policy keeps code away from the contents of Python's own classes and modules. Some
functions of the standard library would expose them, through names or objects that the code passes;
these functions are patched here."""

import os
import sys
import types

_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE, from 3.10 on.
_HEAP_TYPE = 1 << 9
_STREAMS = ("stdin", "stdout", "stderr")


def lookup(value, name):
    """Asks the object itself: a proxy, an alias of a class or a __getattr__ would answer for
    another object."""
    # isinstance() trusts what proxies claim.
    owner = type if issubclass(type(value), type) else object
    return owner.__getattribute__(value, name)


def standard_names():
    if hasattr(sys, "stdlib_module_names"):  # Since 3.10.
        return sys.stdlib_module_names
    names = set(sys.builtin_module_names)
    for directory in sys.path[:2]:  # The library and its extension modules.
        try:
            names.update(entry.partition(".")[0] for entry in os.listdir(directory))
        except OSError:
            pass
    return names - {"site-packages", "dist-packages", "__pycache__"}


def is_standard(module):
    return module.partition(".")[0] in _standard


def held_by(a_class):
    return type.__dict__["__dict__"].__get__(a_class)


def is_pythons(value):
    if not issubclass(type(value), type):
        return issubclass(type(value), types.ModuleType)
    flags = type.__getattribute__(value, "__flags__")
    if flags & _IMMUTABLE_TYPE or not flags & _HEAP_TYPE:
        return True
    module = held_by(value).get("__module__")
    if type(module) is not str or module == "__main__":
        return False
    return is_standard(module) or module in sys.modules  # A package's.


_standard = standard_names()


def guard_functools():
    """update_wrapper, and all decorators that use it, copy only the __dict__ of objects of the
    code."""
    import functools

    update = functools.update_wrapper

    def update_wrapper(wrapper, wrapped, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES):
        if "__dict__" in updated:
            try:
                held = {} if is_pythons(wrapped) else lookup(wrapped, "__dict__")
            except AttributeError:
                held = {}
            wrapper.__dict__.update(held)
            updated = [name for name in updated if name != "__dict__"]
        return update(wrapper, wrapped, assigned, updated)

    update_wrapper.__doc__ = update.__doc__
    update_wrapper.__module__ = "functools"
    functools.update_wrapper = update_wrapper


def guard_contextlib():
    """redirect_stdout redirects only a stream, whatever a derived class names: not sys.modules."""
    import contextlib

    def stream_of(redirection):
        name = redirection._stream
        if type(name) is not str or name not in _STREAMS:
            raise ValueError("only stdin, stdout and stderr can be redirected")
        return name

    class _RedirectStream(contextlib._RedirectStream):
        def __enter__(self):
            name = stream_of(self)
            self._old_targets.append(getattr(sys, name))
            setattr(sys, name, self._new_target)
            return self._new_target

        def __exit__(self, kind, error, trace):
            setattr(sys, stream_of(self), self._old_targets.pop())

    for method in ("__enter__", "__exit__"):
        setattr(contextlib._RedirectStream, method, _RedirectStream.__dict__[method])


def guard_argparse():
    """A namespace shows only its own contents, not those of a class that is passed to its methods."""
    import argparse

    def _get_kwargs(self):
        return list(lookup(self, "__dict__").items()) if not is_pythons(self) else []

    def __eq__(self, other):
        if not issubclass(type(self), argparse.Namespace) or not issubclass(type(other), argparse.Namespace):
            return NotImplemented
        return lookup(self, "__dict__") == lookup(other, "__dict__")

    argparse._AttributeHolder._get_kwargs = _get_kwargs
    argparse.Namespace.__eq__ = __eq__


def guard_warnings():
    """catch_warnings does not keep a module in its attributes."""
    import warnings

    def module(self):
        return lookup(self, "__dict__").get("_other", warnings)

    def set_module(self, value):
        if value is not warnings:
            lookup(self, "__dict__")["_other"] = value

    warnings.catch_warnings._module = property(module, set_module)


# Expressions that pandas evaluates, under any name and with any text: df.eval("@name.attribute").

_FRAMES = frozenset(
    "ag_await ag_code ag_frame co_code co_consts co_names cr_await cr_code cr_frame cr_origin f_back f_builtins f_code "
    "f_globals f_locals f_trace gi_code gi_frame gi_yieldfrom tb_frame tb_next".split()
)


def _guard_scope():
    """Names in the text never refer to modules or to Python's own objects."""
    scope = sys.modules["pandas.core.computation.scope"].Scope
    resolve = scope.resolve

    def resolve_own(self, key, is_local):
        value = resolve(self, key, is_local)
        if issubclass(type(value), types.ModuleType) or is_local and key.startswith("__"):
            raise AttributeError(f"{key:.80} is not shown to text that is evaluated")
        return value

    scope.resolve = resolve_own


def _guard_visitor(module, name):
    def guard():
        visitor = getattr(sys.modules[module], name)
        visit = visitor.visit_Attribute

        def visit_Attribute(self, node, **options):
            if node.attr.startswith("_") or node.attr in _FRAMES:
                raise AttributeError(f"the attribute {node.attr:.80} is not shown to text that is evaluated")
            return visit(self, node, **options)

        visitor.visit_Attribute = visit_Attribute

    return guard


PACKAGE_GUARDS = {
    "pandas.core.computation.scope": _guard_scope,
    **{
        module: _guard_visitor(module, name)
        for module, name in (
            ("pandas.core.computation.expr", "BaseExprVisitor"),
            ("pandas.core.computation.pytables", "PyTablesExprVisitor"),
        )
    },
}

# Functions to call after each of these modules is imported.
GUARDS = {
    "argparse": guard_argparse,
    "contextlib": guard_contextlib,
    "functools": guard_functools,
    "warnings": guard_warnings,
}
