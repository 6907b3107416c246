"""Has the tree judged that will be executed, before anything is (guest/native/judge.h)."""

import os
import struct

from caisson.runner import described, serialised, tools
from caisson.runner.trees import called, given
from caisson.runner.values import decode, encode

_SOCKET = 1022
_WALL = 0x40000000  # Also a child that sends no signal when it ends.
_WRAPPERS = {
    "awaitable": tools.AWAITABLE,
    "taking": tools.TAKING,
    "pending": tools.PENDING,
    "returned": tools.RETURNED,
    "twin": tools.TWIN,
}


class Judgement:
    def __init__(self, may_run, report, edits):
        self.may_run, self.report = may_run, report
        self._edits = edits

    def apply(self, tree, nodes):
        """Puts the functions around the values that they are called with."""
        wrappers = {}
        for number, what in reversed(self._edits):
            if isinstance(what, list):
                _name_parts(nodes[number], what)
            else:
                wrappers.setdefault(id(nodes[number]), []).append(what)
        if wrappers:
            for node in [tree, *nodes]:
                _wrap_in(node, wrappers)


def _name_parts(pattern, names):
    pattern.kwd_patterns = pattern.patterns + pattern.kwd_patterns
    pattern.patterns, pattern.kwd_attrs = [], names


def _wrap(value, wrappers):
    for name in wrappers.get(id(value), ()):
        value = given(value) if name == "given" else called(_WRAPPERS[name], value)
    return value


def _wrap_in(node, wrappers):
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            value[:] = [_wrap(item, wrappers) for item in value]
        elif id(value) in wrappers:
            setattr(node, field, _wrap(value, wrappers))


def _receive(size):
    data = b""
    while len(data) < size:
        part = os.read(_SOCKET, size - len(data))
        if not part:
            raise SyntaxError("the code could not be checked: the judge is gone")
        data += part
    return data


def _send(value):
    data = encode(value)
    data = memoryview(struct.pack("<I", len(data)) + data)
    while data:
        data = data[os.write(_SOCKET, data) :]


def _ask(message, interpreter):
    """Answers what the judge asks, until it has judged."""
    while True:
        _send(message)
        (size,) = struct.unpack("<I", _receive(4))
        what, *answer = decode(_receive(size))
        if what == "judged":
            return Judgement(*answer)
        if what == "nested":
            raise RecursionError
        if what == "failed":
            raise SyntaxError(f"the code could not be checked: {answer[0]}")
        message = interpreter.missing(*answer) if what == "missing" else interpreter.module(*answer)


def judge(tree, request, may_await, main_globals):
    is_described = any(isinstance(entry, tuple) for entry in request.tools)
    has_rules = request.policy != 0 or request.is_check or request.native_packages is not None
    if not has_rules and not is_described and not may_await:
        return None
    serial = serialised.Tree(tree)
    interpreter = described.Interpreter(serial, main_globals)
    asked = {
        "code": request.code,
        "tools": request.tools,
        "policy": request.policy,
        "native_packages": request.native_packages,
        "check": request.is_check,
        "awaits": may_await,
    }
    try:
        judgement = _ask({**asked, **serial.message(), **interpreter.message()}, interpreter)
    except OSError:
        raise SyntaxError("the code could not be checked: the judge is gone") from None
    if judgement.may_run:
        judgement.apply(tree, serial.nodes)
    return judgement


def dismiss():
    """No other code will be judged."""
    try:
        os.close(_SOCKET)
        os.waitpid(-1, _WALL)
    except OSError:
        pass  # It is gone already.
