"""What a cell of the wasm engine does not have says so, and names the engine that has it."""

import sys

_NATIVE = "the native engine (--engine native)"

# Packages that are no part of Python but that models like to import.
_PACKAGES = frozenset(
    """numpy pandas scipy matplotlib sklearn torch tensorflow requests httpx aiohttp PIL cv2 sympy
    polars pyarrow openpyxl bs4 lxml yaml pydantic seaborn plotly networkx statsmodels numba
    """.split()
)

# Modules of the standard library that are built on what the wasm engine does not have.
_MODULES = frozenset(
    """_ctypes ctypes curses tkinter turtle _multiprocessing _posixsubprocess
    _posixshmem _ssl mmap fcntl termios resource grp readline _curses _tkinter pty tty syslog nis crypt spwd ossaudiodev _dbm _gdbm
    """.split()
)

_USER = 65534  # As in the native engine, and in wasm/pwd.py.

_HTTP = frozenset("requests httpx aiohttp".split())


class _Missing:
    """The last finder: gives the error for a missing module a sentence on what to do instead."""

    def __init__(self, is_wasm):
        self._is_wasm = is_wasm

    def find_spec(self, name, path=None, target=None):
        hint = None
        if self._is_wasm and name in _MODULES:
            hint = f"it needs {_NATIVE}"
        elif name in _HTTP:
            hint = "code here has no network; use the host's tools instead"
        elif self._is_wasm and name in _PACKAGES:
            hint = f"it needs {_NATIVE}, with the package installed there"
        if hint is None:
            return None
        raise ModuleNotFoundError(f"No module named {name!r}: {hint}", name=name)


def _refuse(what, error=OSError):
    def refused(*args, **kwargs):
        raise error(f"{what} not available here; they need {_NATIVE}")

    return refused


def _install_wasm():
    import _thread
    import os
    import subprocess
    import threading

    start = _refuse("threads are", RuntimeError)
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start
    for name in """fork forkpty system popen execv execve execl execle execlp execlpe execvp execvpe
            posix_spawn posix_spawnp spawnv spawnve spawnl spawnle spawnlp spawnlpe spawnvp spawnvpe
            kill wait waitpid pipe""".split():
        refused = _refuse(f"os.{name}: processes are")
        refused.__name__ = name
        setattr(os, name, refused)
    for name in ("getuid", "geteuid", "getgid", "getegid"):
        setattr(os, name, lambda: _USER)
    subprocess.Popen.__init__ = _refuse("subprocess: processes are")
    subprocess.Popen.__del__ = lambda self: None


def install():
    is_wasm = sys.platform == "wasi"
    sys.meta_path.append(_Missing(is_wasm))
    if is_wasm:
        _install_wasm()
