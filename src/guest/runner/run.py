"""One run: parses, checks, compiles and executes one and the same tree (I7), and reports how it
ended."""

import ast
import linecache
import re
import sys
from opcode import opmap

from caisson import environment, lazy
from caisson.runner import ending, judge, reports, tools, trees

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CO_COROUTINE = 0x80
_BALLAST_BYTES = 2 << 20
_RAISES = frozenset(opmap[name] for name in ("RAISE_VARARGS", "RERAISE") if name in opmap)


class Request:
    """The request of the host (guest/abi.h)."""

    def __init__(self, fields):
        self.code = fields["code"]
        self.file = fields.get("argv0") or "main.py"
        self.result_bytes = fields.get("result_bytes", 128 << 10)
        self.tools = fields.get("tools") or []
        self.environment = fields.get("env")
        self.policy = fields.get("policy") or 0
        self.native_packages = fields.get("native_packages")
        self.is_check = bool(fields.get("check"))
        self.keeps_cell = bool(fields.get("keep"))
        if self.code.startswith(b"\xef\xbb\xbf"):
            self.code = self.code[3:]


def _text(request):
    """Returns the code as a str; raises a SyntaxError with the position if it is not text."""
    _check_encoding(request)
    try:
        text = request.code.decode("utf-8")
        if "\0" not in text:
            return text
        at, message = request.code.index(0), "source code cannot contain null bytes"
    except UnicodeDecodeError as error:
        at = error.start
        message = f"the code is not UTF-8: invalid byte 0x{request.code[at]:x}"
    before = request.code[:at].decode("utf-8", "replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    raise SyntaxError(message, (request.file, line, column, None))


_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_NO_CODE = re.compile(rb"[ \t\f]*(#|$)")
_UTF8_NAMES = (b"utf-8", b"utf8", b"utf-8-sig", b"ascii", b"us-ascii")


def _check_encoding(request):
    """Python would decode the code in another way than it was sent."""
    for number, line in enumerate(re.split(rb"\r\n|\r|\n", request.code, maxsplit=2)[:2], 1):
        found = _CODING.match(line)
        if found and found[1].lower().replace(b"_", b"-") not in _UTF8_NAMES:
            message = f"the code says it is {found[1][:40].decode()}, and code is always UTF-8"
            raise SyntaxError(message, (request.file, number, found.start(1) + 1, None))
        if found or not _NO_CODE.match(line):
            return


def _may_await_tools(request):
    """Most code awaits nothing, or has no tools, so the walk is skipped."""
    has_tools = request.tools or b"call_tool" in request.code
    return has_tools and (b"await" in request.code or b"async" in request.code)


def _conclude_calls():
    try:
        lazy.conclude()
    except Exception:
        pass  # For example, the code's own stream refused the text.


class _Judged(Exception):
    """The code must not be executed: `report` says why."""

    def __init__(self, report):
        super().__init__()
        self.report = report


class Runs:
    """All runs of a cell, which continue in the same __main__."""

    def __init__(self, bridge):
        self._bridge = bridge
        self._globals = sys.modules["__main__"].__dict__
        self._ending = ending.Ending(self._globals)
        self._streams = [sys.stdout, sys.stderr]
        self._ballast = None  # Freed when there is no memory, so that even that can be described.
        self.source = ""

    def run(self, request):
        """Returns (report, whether memory was refused)."""
        self._ballast = bytearray(_BALLAST_BYTES)
        try:
            return self._run(request)
        except MemoryError:
            self._ballast = None
            return reports.OUT_OF_MEMORY, True
        finally:
            self._flush()

    def _run(self, request):
        try:
            code, is_function = self._compile(request)
        except _Judged as judged:
            return judged.report, False
        except (SyntaxError, ValueError) as error:
            end = "checked" if request.is_check else "rejected"
            return reports.refused(error, request.file, end), False
        if not request.keeps_cell:
            judge.dismiss()
        tools.guard_exceptions(is_strict=request.policy != 0)
        try:
            try:
                value = self._execute(request, code, is_function)
            finally:
                _conclude_calls()
        except BaseException as exception:
            if isinstance(exception, MemoryError):
                self._ballast = None
                if exception.__traceback__ is None:  # There was not even memory for that.
                    return reports.OUT_OF_MEMORY, True
            is_refused = _is_refused_memory(exception)
            report = reports.raised(exception, request.file), is_refused
        else:
            report = reports.returned(value, request.result_bytes), False
            del value
        self._ending.end_program(request.keeps_cell)
        return report

    def _compile(self, request):
        self.source = source = _text(request)
        linecache.cache[request.file] = (lambda: source,)
        try:
            tree = compile(source, request.file, "exec", _FLAGS | ast.PyCF_ONLY_AST, True)
            judgement = judge.judge(tree, request, _may_await_tools(request), self._globals)
            if judgement is not None and not judgement.may_run:
                raise _Judged(judgement.report)
            if request.policy != 0:
                trees.rewrite_own_attributes(tree)
            is_function = trees.rewrite_for_result(tree, request.file)
            code = compile(tree, request.file, "exec", _FLAGS, True)
            if request.is_check:
                raise _Judged(judgement.report)
            return code, is_function
        except (MemoryError, RecursionError):
            raise SyntaxError("the code is nested too deeply, or too large to compile") from None

    def _execute(self, request, code, is_function):
        if request.environment is not None:
            environment.replace(request.environment)
        tools.define(self._bridge, request.tools, self._globals)
        value = eval(code, self._globals)
        if code.co_flags & _CO_COROUTINE:
            lazy.run(value)
        if not is_function:
            return self._globals.pop(trees.RESULT, None)
        body = self._globals.pop(trees.BODY, None)
        if body is None:
            raise SystemError("the code's body is gone")
        value = body()
        return lazy.run(value) if body.__code__.co_flags & _CO_COROUTINE else value

    def _flush(self):
        for stream in [sys.stdout, sys.stderr, *self._streams]:
            try:
                stream.flush()
            except BaseException:
                pass


def _is_refused_memory(exception):
    """Returns whether the limit, and not the code itself, raised a MemoryError."""
    if not isinstance(exception, MemoryError):
        return False
    trace = exception.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    at = trace.tb_lasti  # Code can make its own tracebacks.
    return _RAISES.isdisjoint(trace.tb_frame.f_code.co_code[at : at + 1])
