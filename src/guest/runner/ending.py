"""Does what CPython does when a program ends, while the run still counts (guest/run/ending.h)."""

import _io
import atexit
import gc
import sys
from types import FunctionType, ModuleType

from caisson import report
from caisson.runner.tools import Tool

_BUFFERS = (_io.TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom)  # The outermost first.
# The objects that the names of __main__ refer to, in the order of release: objects that a __del__
# is likely to need stay longest.
_SHARES = _DATA, _CLASSES_AND_CLOSURES, _FUNCTIONS = range(3)
_STAYS = 3


def _attempt(function, about, *arguments):
    """Code that is left behind may raise anything: the error is shown, and changes nothing."""
    try:
        function(*arguments)
    except BaseException as error:
        try:
            trace = report.own_frames(error.__traceback__)
            sys.unraisablehook(sys.UnraisableHookArgs((type(error), error, trace, None, about)))
        except BaseException:
            pass


def _made_since_boot(kind):
    return [one for one in gc.get_objects() if kind in type.__dict__["__mro__"].__get__(type(one))]


def _is_open_for_writing(file):
    try:
        return _io.FileIO.writable(file)
    except ValueError:
        return False


def _holds_files():
    return any(map(_is_open_for_writing, _made_since_boot(_io.FileIO)))


def _flush(file):
    try:
        file.flush()
    except ValueError:
        pass  # It is closed or detached.


def _flush_files():
    for kind in _BUFFERS:
        for file in _made_since_boot(kind):
            _attempt(_flush, file, file)


def _share(value):
    if issubclass(type(value), ModuleType) or type(value) is Tool:
        return _STAYS
    if not callable(value):
        return _DATA
    is_plain = type(value) is FunctionType and value.__closure__ is None
    return _FUNCTIONS if is_plain else _CLASSES_AND_CLOSURES


def _call_handlers():
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # It was already shown: only 3.9 raises it as well.


class Ending:
    def __init__(self, main_globals):
        self._globals = main_globals
        gc.freeze()  # Existing objects do not belong to the code.

    def end_program(self, keeps_cell):
        if not keeps_cell:
            if threading := sys.modules.get("threading"):
                _attempt(threading._shutdown, threading)
            _call_handlers()
            self._release_files()
        elif _holds_files():
            _flush_files()

    def _release_files(self):
        """The owner of a file may have more to write than the file knows of (an archive its
        directory), so owners go first. In a cycle a file may be closed before its writer is
        finalized, so everything is flushed before cycles are collected."""
        for share in _SHARES:
            if not _holds_files():
                return
            self._release_globals(share)
            if not _holds_files():
                return
            _flush_files()
            gc.collect()
            _flush_files()

    def _release_globals(self, share):
        names = [name for name in list(self._globals) if type(name) is str and not name.startswith("__")]
        for name in names:
            try:
                if _share(self._globals.get(name)) == share:
                    self._globals[name] = None
            except BaseException:
                pass  # Raised by keys with their own comparison.
