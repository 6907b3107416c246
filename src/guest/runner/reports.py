"""What the host is told at the end of a run (guest/abi.h)."""

import sys

from caisson import report as shown
from caisson.runner.values import Encoder, TooBig, TooDeep, Unsupported, encode

_MAX_MESSAGE = 16 << 10
_MAX_TRACEBACK = 64 << 10
_MAX_REPR_DIGITS = 20_000

OUT_OF_MEMORY = encode(
    {
        "end": "raised",
        "error": {"type": "MemoryError", "message": "", "line": None, "traceback": "MemoryError\n"},
    }
)


def text(value, limit=_MAX_MESSAGE):
    """A str as it can be sent: without lone surrogates, and cut."""
    if not isinstance(value, str):
        return ""
    data = str.encode(value, "utf-8", "backslashreplace")[:limit]
    return data.decode("utf-8", "ignore")


# Missing in older interpreters, which have no limit.
_get_digits = getattr(sys, "get_int_max_str_digits", lambda: 0)
_set_digits = getattr(sys, "set_int_max_str_digits", lambda digits: None)


def _long_repr(value):
    """repr(), also of ints that are too long for JSON and for Python's own limit."""
    before = _get_digits()
    if 0 < before < _MAX_REPR_DIGITS:
        _set_digits(_MAX_REPR_DIGITS)
    try:
        return repr(value)
    finally:
        _set_digits(before)


def _repr(value):
    try:
        return _long_repr(value)
    except BaseException:
        if isinstance(value, int):
            return f"<int of {int.bit_length(value)} bits>"
        return f"<unprintable {type(value).__name__:.200} object>"


def returned(value, result_bytes):
    if value is None:
        return encode({"end": "returned"})
    encoder = Encoder(is_json=True, limit=result_bytes)
    try:
        encoder.put(value, 1)
    except (Unsupported, TooDeep):
        return encode({"end": "returned", "repr": text(_repr(value), result_bytes)})
    except TooBig:
        return encode({"end": "result_too_large"})
    report = Encoder()
    report.head(10, 2)
    for part in ("end", "returned", "result"):
        report.put(part)
    return bytes(report.out + encoder.out)


def _plainly(exception, file):
    """What shown.describe does, without any help, for when it fails."""
    try:
        message = str(exception)
    except BaseException:
        message = "<the exception cannot be shown>"
    line, trace, kind = None, exception.__traceback__, type(exception).__name__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return kind, message, line, f"{kind}: {message}\n"


def _error(exception, file):
    try:
        kind, message, line, trace = shown.describe(exception, file)
    except BaseException:
        kind, message, line, trace = _plainly(exception, file)
    return {
        "type": text(kind, 200),
        "message": text(message),
        "line": line if type(line) is int and line >= 0 else None,
        "traceback": text(trace, _MAX_TRACEBACK),
    }


def _exit_status(exception):
    """Python's rules for SystemExit: None is 0, an int is itself, anything else is printed and is 1."""
    code = exception.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code if -(1 << 31) <= code < 1 << 31 else -1
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def raised(exception, file):
    if not isinstance(exception, SystemExit):
        return encode({"end": "raised", "error": _error(exception, file)})
    status = _exit_status(exception)
    report = {"end": "exited", "status": status}
    if status != 0:
        report["error"] = _error(exception, file)
    return encode(report)


def _position(value):
    return value if isinstance(value, int) and value > 0 else 1


def refused(exception, file, end):
    """Of code that Python itself refuses."""
    error = _error(exception, file)
    finding = {
        "rule": "syntax",
        "message": text(getattr(exception, "msg", error["message"])),
        "line": _position(getattr(exception, "lineno", None)),
        "column": _position(getattr(exception, "offset", None)),
        "hint": shown.syntax_hint(exception),
    }
    return encode({"end": end, "error": error, "findings": [finding]})
