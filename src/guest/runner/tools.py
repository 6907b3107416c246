"""The host's tools as functions of the code."""

import builtins
import gc
import sys
import types

from caisson import own
from caisson.runner.values import decode

# Names that code cannot write.
PENDING, RETURNED, TWIN, GIVEN, OWN = "<pending>", "<returned>", "<twin>", "<given>", "<own {}>"
AWAITABLE, TAKING = "<awaitable>", "<taking>"

_DOC = "A tool of the host: call it like a function, with or without await."


class Tool:
    __module__ = "caisson"
    __slots__ = ("_bridge", "_encoded", "__name__", "__qualname__")

    def __init__(self, bridge, name, encoded):
        self._bridge = bridge
        self._encoded = encoded
        self.__name__ = self.__qualname__ = name

    def __call__(self, /, *args, **kwargs):
        return self._bridge.finish(self._bridge.post(self.__name__, args, kwargs))

    def __repr__(self):
        return f"<tool {self.__name__}>"

    @property
    def __doc__(self):
        return _DOC if self._encoded is None else decode(self._encoded).get("doc", _DOC)

    def _said(self, what):
        if self._encoded is None:
            raise AttributeError("the host says no more about this tool than its name")
        from caisson import signature

        return getattr(signature, what)(decode(self._encoded))

    @property
    def __signature__(self):
        return self._said("make")

    @property
    def __annotations__(self):
        return self._said("annotations")


def name_of(entry):
    return entry if isinstance(entry, str) else entry[0]


def encoded_of(entry):
    """Its description, or None if the host gives no more than the name."""
    return None if isinstance(entry, str) else entry[1]


def is_function(entry):
    """Whether code can call it by name; a tool that is only named always can."""
    return isinstance(entry, str) or is_function_name(name_of(entry))


def is_function_name(name):
    return name.isidentifier() and not hasattr(builtins, name)


def _merged(given, more):
    if given is not None and not isinstance(given, dict):
        kind = type(given).__name__
        raise TypeError(f"call_tool: the arguments must be a dict, not '{kind:.200}'")
    return {**(given or {}), **more}


def _require_name(name):
    if not isinstance(name, str):
        raise TypeError(f"call_tool() argument 1 must be str, not {type(name).__name__}")


_SCALARS = frozenset((type(None), bool, int, float, str, bytes))
_COLLECTIONS = frozenset((dict, list, tuple))


def _is_answer(value):
    """Something that a tool may have given. A list of tasks is none: to await that is a mistake."""
    if type(value) in _SCALARS or type(value) is dict:
        return True
    return type(value) in (list, tuple) and all(
        type(item) in _SCALARS or type(item) in _COLLECTIONS for item in value
    )


def _awaitable(value):
    """What `await` gets for the value of a call that was waited for where it was made."""
    from caisson import awaiting

    return awaiting.given(value) if _is_answer(value) else value


def _is_pending_call(value):
    loop = sys.modules.get("caisson.loop")
    return loop is not None and type(value) is loop.PendingCall


def _given(value):
    from caisson import awaiting

    return value if _is_pending_call(value) else awaiting.given(value)


def _awaitables(values):
    return [value.future() if _is_pending_call(value) else _awaitable(value) for value in values]


def _is_of_asyncio(function):
    if type(function) is types.MethodType:
        function = function.__func__
    module = function.__module__ if type(function) is types.FunctionType else None
    return isinstance(module, str) and module.partition(".")[0] == "asyncio"


def _taken(name, args):
    """What a function of asyncio is given in the place of `args`."""
    from caisson import awaiting

    if name == "gather":
        return _awaitables(args)
    if name == "wait":
        return [*map(awaiting.tasks, map(_awaitables, args[:1])), *args[1:]]
    return [*map(_awaitables if name == "as_completed" else _awaitable, args[:1]), *args[1:]]


def _taking(function):
    if not _is_of_asyncio(function):
        return function
    return lambda *args, **kwargs: function(*_taken(function.__name__, args), **kwargs)


_MADE_BY_CALLING = 0x20 | 0x80 | 0x200  # Generators, coroutines, async generators.


def _returns_what_it_returns(function):
    is_own = type(function) is types.FunctionType and not _is_of_asyncio(function)
    return is_own and not function.__code__.co_flags & _MADE_BY_CALLING


def _call_awaited(function, args, kwargs):
    return function(*args, **kwargs)


def _is_module(value):
    return issubclass(type(value), types.ModuleType)


def _own_dict(value):
    if own.is_pythons(value):
        raise AttributeError("__dict__ is shown of objects of your own classes only")
    shown = own.lookup(value, "__dict__")
    held = own.held_by(value) if issubclass(type(value), type) else shown
    values = held.values() if held is not shown else dict.values(held) if issubclass(type(held), dict) else ()
    if any(map(_is_module, list(values))):
        raise AttributeError("__dict__ holds a module, which is not shown")
    return shown


def _no_module(name):
    def read(value):
        attribute = getattr(value, name)
        if _is_module(attribute):
            raise AttributeError("this attribute is a module, which is not shown")
        return attribute

    return read


def _own_obj(value):
    what = value if issubclass(type(value), type) else type(value)
    if AttributeError in type.__getattribute__(what, "__mro__"):
        raise AttributeError("the attribute obj of an AttributeError is not shown")
    return _read_obj(value)


_read_obj = _no_module("obj")
_shows_obj = False


def guard_exceptions(is_strict):
    global _shows_obj
    _shows_obj = not is_strict


def _guard_obj():
    """AttributeError.obj is whatever Python looked into. Whatever an object is asked through (proxies, super(), aliases of types,
    a __getattr__ of the library), it ends here."""
    member = AttributeError.__dict__.get("obj")
    if member is None:  # Before 3.10.
        return
    get = member.__get__
    held = gc.get_referents(AttributeError.__dict__)[0]
    held["obj"] = property(lambda error: get(error) if _shows_obj else None, member.__set__, member.__delete__)
    sys._clear_type_cache()


def _no_evaluator(name):
    """DataFrame.query, DataFrame.eval: where they are called, the check sees their text."""

    def read(value):
        attribute = getattr(value, name)
        if callable(attribute) and not _is_known(_module_of(attribute)):
            raise AttributeError("call it where it stands, with the text as a literal: df.query('a > @n')")
        return attribute

    return read


def _module_of(function):
    while type(function) is types.MethodType:
        function = function.__func__
    if type(function) is types.FunctionType:
        return function.__globals__.get("__name__")
    return own.held_by(type(function)).get("__module__")


def _is_known(module):
    return type(module) is not str or module == "__main__" or own.is_standard(module)


# Attributes that are asked for by functions of ours under the strict policy
# (guest/policy/own_attributes.h).
OWN_ATTRIBUTES = {
    "__dict__": _own_dict,
    "obj": _own_obj,
    **{name: _no_module(name) for name in ("os", "sys", "socket")},
}
# Those that are, where they are not called.
EVALUATORS = {name: _no_evaluator(name) for name in ("query", "eval")}


def install(bridge):
    """Puts call_tool into builtins, and what awaited calls are rewritten to."""

    def call_tool(name, arguments=None, /, **more):
        """Calls any tool of the host by its name."""
        _require_name(name)
        return bridge.finish(bridge.post(name, (), _merged(arguments, more)))

    def pending_twin(function):
        """The twin of a tool whose calls are pending; None of anything else."""
        from caisson import lazy

        if type(function) is Tool:
            return lambda *args, **kwargs: lazy.tool_call(function.__name__, args, kwargs)
        if function is not call_tool:
            return None

        def pending_call(name, arguments=None, /, **more):
            _require_name(name)
            return lazy.tool_call(name, (), _merged(arguments, more))

        return pending_call

    # As in guest/awaits/awaiting.h.

    def pending(function):
        made = twin(function)
        if made is function and _returns_what_it_returns(function):
            return lambda *args, **kwargs: _call_awaited(function, args, kwargs)
        return made

    def returned(function):
        caller = sys._getframe(1).f_back  # Of the function that returns; a thread's first has none.
        is_awaited = caller is not None and caller.f_code is _call_awaited.__code__
        return pending(function) if is_awaited else function

    def twin(function):
        return pending_twin(function) or function

    _guard_obj()
    call_tool.__module__ = "builtins"
    builtins.call_tool = call_tool
    hidden = {
        PENDING: pending,
        RETURNED: returned,
        TWIN: twin,
        GIVEN: _given,
        AWAITABLE: _awaitable,
        TAKING: _taking,
        **{OWN.format(name): read for name, read in {**OWN_ATTRIBUTES, **EVALUATORS}.items()},
    }
    for name, function in hidden.items():
        setattr(builtins, name, function)


def define(bridge, entries, globals):
    for entry in entries:
        if is_function(entry):
            globals[name_of(entry)] = Tool(bridge, name_of(entry), encoded_of(entry))
