"""Formats an exception for the author of the code: Python's own format, only frames of the code."""

import builtins
import linecache
import sys
import traceback
import warnings
from types import TracebackType

_Group = getattr(builtins, "BaseExceptionGroup", ())  # Since 3.11.
_library = tuple(path.rstrip("/") + "/" for path in sys.path) + ("<frozen ",)


def _outermost_code():
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code


# If the interpreter was started for a run, this frame is below everything that runs.
_starter = _outermost_code()


def _is_ours(code):
    return code is _starter or code.co_filename.startswith(_library)


def own_frames(trace):
    frames = []
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code):
            frames.append(trace)
        trace = trace.tb_next
    result = None
    for trace in reversed(frames):
        result = TracebackType(result, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return result


def _trim(exception, seen):
    """Keeps only frames of the code in an exception and its causes and contexts."""
    todo = [exception]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        BaseException.__traceback__.__set__(one, own_frames(one.__traceback__))
        todo += (one.__cause__, one.__context__)
        if isinstance(one, _Group):
            todo += one.exceptions


def _last_line(trace, file):
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _load_source(file):
    """Splits the source into lines now, so that no file of the same name is shown instead."""
    entry = linecache.cache.get(file)
    if entry is not None and len(entry) == 1:
        text = entry[0]().replace("\r\n", "\n").replace("\r", "\n")
        lines = [line + "\n" for line in text.split("\n")]
        linecache.cache[file] = (len(text), None, lines, file)


def _message(exception):
    try:
        return str(exception)
    except BaseException:
        return "<exception str() failed>"


def _type_name(exception):
    kind = type(exception)
    module, name = kind.__module__, kind.__qualname__
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def describe(exception, file):
    """Returns (type, message, line, traceback) of the exception that ended a run."""
    _load_source(file)
    if isinstance(exception, SyntaxError) and exception.filename == file and not exception.text:
        exception.text = linecache.getline(file, exception.lineno or 0) or None
    _trim(exception, set())
    line = _last_line(exception.__traceback__, file)
    if line is None and isinstance(exception, SyntaxError) and exception.filename == file:
        line = exception.lineno
    # Three arguments, for versions before 3.10.
    text = "".join(traceback.format_exception(type(exception), exception, exception.__traceback__))
    message = exception.msg if type(exception) is SyntaxError else _message(exception)
    return _type_name(exception), message, line, text


def _created_at(coroutine):
    """Returns where it was called, if code has enabled that
    (sys.set_coroutine_origin_tracking_depth)."""
    if coroutine.cr_origin is None:
        return ""
    places = [(*place, linecache.getline(*place[:2])) for place in reversed(coroutine.cr_origin)]
    lines = "".join(traceback.format_list(places))
    return f"\nCoroutine created at (most recent call last)\n{lines}".rstrip("\n")


def warn_unawaited(coroutine):
    """warnings._warn_unawaited_coroutine, reported at a line of the code, because our own frame may
    release it."""
    frame = sys._getframe()
    while frame is not None and _is_ours(frame.f_code):
        frame = frame.f_back
    if frame is not None:
        file, line, place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals
    else:
        code, place = coroutine.cr_code, coroutine.cr_frame.f_globals if coroutine.cr_frame else {}
        file, line = code.co_filename, code.co_firstlineno
    warnings.warn_explicit(
        f"coroutine '{coroutine.__qualname__}' was never awaited" + _created_at(coroutine),
        RuntimeWarning,
        file,
        line,
        registry=place.setdefault("__warningregistry__", {}),
        source=coroutine,
    )


_HINTS = (
    ("nested too deeply", "split the expression into smaller statements"),
    ("was never closed", "add the missing closing bracket"),
    ("unmatched", "remove the extra closing bracket, or add the opening one"),
    ("does not match opening", "close brackets in the reverse order they were opened"),
    ("unterminated triple-quoted", "close the string with the same three quotes"),
    ("unterminated", "close the string on the same line, or use triple quotes"),
    ("Missing parentheses", "print is a function: print(...)"),
    ("expected ':'", "end the line with a colon"),
    ("expected an indented block", "indent the body by four spaces, or write pass"),
    ("unexpected indent", "remove the indentation at the start of this line"),
    ("unindent does not match", "indent this line like the block it belongs to"),
    ("inconsistent use of tabs", "indent with spaces only"),
    ("invalid non-printable character", "replace the character by plain ASCII"),
    ("invalid character", "replace the character by plain ASCII"),
    ("outside function", "move it into a function"),
    ("outside async function", "make the enclosing function async def"),
    ("import *", "import the names you need"),
    ("null bytes", "remove the NUL bytes"),
    ("not UTF-8", "send the code as UTF-8"),
    ("code is always UTF-8", "save it as UTF-8, and leave the coding line out"),
    ("=='", "compare with ==, assign with ="),
)


def syntax_hint(exception):
    message = str(getattr(exception, "msg", ""))
    for part, hint in _HINTS:
        if part in message:
            return hint
    return "correct the syntax at this position"
