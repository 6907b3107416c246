"""What CPython does when a program ends, done while the run still counts (guest/ending.h)."""

import _io
import atexit
import gc
import sys
from types import ModuleType

from caisson import report

_BUFFERS = (_io.TextIOWrapper, _io.BufferedWriter, _io.BufferedRandom)  # The outermost first.


def _attempt(function, about, *arguments):
    """Code that is left behind may raise what it likes: it is shown, and changes nothing."""
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


def _flush(file):
    try:
        file.flush()
    except ValueError:
        pass  # It is closed or detached.


def _flush_files():
    for kind in _BUFFERS:
        for file in _made_since_boot(kind):
            _attempt(_flush, file, file)


def _call_handlers():
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # It has been shown: only 3.9 raises it, too.


class Ending:
    def __init__(self, main_globals):
        self._globals = main_globals
        gc.freeze()  # What is there now is not the code's.

    def end_program(self, keeps_cell):
        if not keeps_cell:
            if threading := sys.modules.get("threading"):
                _attempt(threading._shutdown, threading)
            _call_handlers()
        if not any(map(_is_open_for_writing, _made_since_boot(_io.FileIO))):
            return
        if not keeps_cell:
            self._release_globals()
        # In a cycle a file may be closed before what writes to it is finalized.
        _flush_files()
        if not keeps_cell:
            gc.collect()
            _flush_files()

    def _release_globals(self):
        """Whoever holds files may have more to write than they know of. What a __del__ needs stays."""
        for name in list(self._globals):
            value = self._globals.get(name)
            stays = type(value) is ModuleType or callable(value)
            if type(name) is str and not name.startswith("__") and not stays:
                self._globals[name] = None
