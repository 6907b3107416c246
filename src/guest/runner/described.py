"""The modules and variables of this interpreter, as the judge is told of them
(guest/native/mirror.h)."""

import builtins
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType

from caisson import own
from caisson.imports import is_missing

_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_HEAP = 1 << 9
# The modules with members that mean something, wherever they are kept.
_KNOWN = ("asyncio", "collections", "functools", "operator", "xml.sax")


def _name_of(module):
    name = module.__dict__.get("__name__")
    return name if type(name) is str else None


def _registered(module, qualified):
    """The name under which a module is imported, if that is not its own."""
    is_there = sys.modules.get(qualified) is module and _name_of(module) != qualified
    return qualified if is_there else None


def _class(value):
    """Whether its instances have fields, and the names that its patterns have; None if none."""
    held = [vars(one) for one in type.__dict__["__mro__"].__get__(value)]
    names = next((one["__match_args__"] for one in held if "__match_args__" in one), None)
    if type(names) is not tuple or not all(type(name) is str for name in names):
        return None
    return any("_fields" in one for one in held), list(names)


def _is_fixed(value):
    flags = type.__dict__["__flags__"].__get__(value)
    # Before 3.10 there was no flag of its own.
    return type(value) is type and bool(flags & _IMMUTABLE or sys.version_info < (3, 10) and not flags & _HEAP)


def _module(name, has_patterns):
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType):
        return None
    lines = {"other": [], "functions": [], "types": [], "fixed": []}
    modules, classes = [], []
    for key, value in list(module.__dict__.items()):
        kind = type(value)
        if type(key) is not str or "\n" in key:
            continue
        if kind in _FUNCTIONS:
            lines["functions"].append(key)
        elif issubclass(kind, ModuleType):
            modules.append((key, _name_of(value), _registered(value, f"{name}.{key}")))
        elif not issubclass(kind, type):
            lines["other"].append(key)
        elif has_patterns and (found := _class(value)):
            classes.append((key, *found))
        else:
            lines["fixed" if has_patterns and _is_fixed(value) else "types"].append(key)
    every = module.__dict__.get("__all__")
    return {
        **{nature: "\n".join(names) for nature, names in lines.items()},
        "name": _name_of(module),
        "modules": modules,
        "classes": classes,
        "all": list(every) if isinstance(every, (list, tuple)) else None,
    }


def _member(value):
    for name in _KNOWN:
        for key, member in list(vars(sys.modules[name]).items()) if name in sys.modules else ():
            if member is value and type(key) is str:
                return "member", name, key
    return None


def _variable(value):
    kind = type(value)
    if issubclass(kind, ModuleType):
        return "module", _name_of(value), _registered(value, "os.path")
    is_type = issubclass(kind, type)
    if (is_type or callable(value)) and (found := _member(value)):
        return found
    if is_type:
        found = _class(value)
        return ("class", *found) if found else ("fixed" if _is_fixed(value) else "type",)
    if kind in _FUNCTIONS:
        return ("function",)
    return ("object" if type.__dict__["__flags__"].__get__(kind) & _HEAP else "other",)


class Interpreter:
    """What the judge is told with a tree, and asks afterwards."""

    def __init__(self, tree, main_globals):
        self._standard = own.standard_names()
        self._has_patterns = tree.has("MatchClass")
        self._globals = {name: _variable(main_globals[name]) for name in tree.names if name in main_globals}
        self._names = tree.names

    def message(self):
        names = {part for name in self._names for part in _paths(name)}
        names.update(row[1] for row in self._globals.values() if row[0] == "module" and row[1])
        loaded = {
            name: self.module(name)
            for name in sorted({*names, "pandas"} & sys.modules.keys())
            if name.partition(".")[0] not in {*self._standard, "caisson", "_caisson", "__main__"}
        }
        return {
            "globals": self._globals,
            "loaded": {name: module for name, module in loaded.items() if module},
            "builtins": "\n".join(name for name in list(vars(builtins)) if type(name) is str),
            "standard": "\n".join(sorted(self._standard)),
        }

    def missing(self, name):
        return name not in sys.modules and is_missing(name)

    def module(self, name):
        try:
            __import__(name)
        except Exception:
            return None  # The code's own import will fail.
        return _module(name, self._has_patterns)


def _paths(dotted):
    """a, a.b and a.b.c of a.b.c"""
    while dotted:
        yield dotted
        dotted = dotted.rpartition(".")[0]
