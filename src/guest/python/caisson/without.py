"""Explains features that a cell does not have, and names the engine that has them or an
alternative."""

import sys

_NATIVE = "the native engine (--engine native)"

# Packages outside the standard library that models often import.
_PACKAGES = frozenset(
    """numpy pandas scipy matplotlib sklearn torch tensorflow requests httpx aiohttp PIL cv2 sympy
    polars pyarrow openpyxl bs4 lxml yaml pydantic seaborn plotly networkx statsmodels numba
    """.split()
)

# Modules of the standard library that need features which the wasm engine does not have.
_MODULES = frozenset(
    """_ctypes ctypes curses tkinter turtle _multiprocessing _posixsubprocess
    _posixshmem _ssl mmap fcntl termios resource grp readline _curses _tkinter pty tty syslog nis crypt spwd ossaudiodev _dbm _gdbm
    """.split()
)

_USER = 65534  # As in the native engine and in wasm/pwd.py.

_HTTP = frozenset("requests httpx aiohttp".split())

_NO_NETWORK = "code here has no network; use the host's tools instead"
_NO_PROGRAMS = "no program can be started here; use the host's tools instead"
_NO_SEMAPHORES = (
    "multiprocessing has no locks, queues and pools here; use threads"
    " (concurrent.futures.ThreadPoolExecutor), or multiprocessing.Process with Pipe(duplex=False)"
)


class _Missing:
    """The last finder: adds advice to the error for a missing module."""

    def __init__(self, is_wasm):
        self._is_wasm = is_wasm

    def find_spec(self, name, path=None, target=None):
        hint = None
        if self._is_wasm and name in _MODULES:
            hint = f"it needs {_NATIVE}"
        elif name in _HTTP:
            hint = _NO_NETWORK
        elif self._is_wasm and name in _PACKAGES:
            hint = f"it needs {_NATIVE}, with the package installed there"
        if hint is None:
            return None
        raise ModuleNotFoundError(f"No module named {name!r}: {hint}", name=name)


def _refuse(message, error=OSError):
    def refused(*args, **kwargs):
        raise error(message)

    return refused


def _explain(owner, name, text):
    """Adds the reason to an error of the kernel."""
    attempt = getattr(owner, name)

    def explained(*args, **kwargs):
        try:
            return attempt(*args, **kwargs)
        except (PermissionError, BlockingIOError, FileNotFoundError) as error:
            raise type(error)(error.errno, text) from None

    explained.__name__ = name
    setattr(owner, name, explained)


def explain_programs():
    _explain(sys.modules["subprocess"].Popen, "__init__", _NO_PROGRAMS)


def explain_sockets():
    socket = sys.modules["socket"]
    _explain(socket.socket, "__init__", _NO_NETWORK)
    _explain(socket, "socketpair", _NO_NETWORK)


def explain_semaphores():
    _explain(sys.modules["multiprocessing.synchronize"].SemLock, "__init__", _NO_SEMAPHORES)


def _install_wasm():
    import _thread
    import os
    import subprocess
    import threading

    start = _refuse(f"threads are not available here; they need {_NATIVE}", RuntimeError)
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start
    processes = f"processes are not available here; they need {_NATIVE}"
    for names, reason in (
        ("fork forkpty kill wait waitpid pipe", processes),
        (
            """system popen execv execve execl execle execlp execlpe execvp execvpe posix_spawn posix_spawnp
            spawnv spawnve spawnl spawnle spawnlp spawnlpe spawnvp spawnvpe""",
            _NO_PROGRAMS,
        ),
    ):
        for name in names.split():
            refused = _refuse(f"os.{name}: {reason}")
            refused.__name__ = name
            setattr(os, name, refused)
    for name in ("getuid", "geteuid", "getgid", "getegid"):
        setattr(os, name, lambda: _USER)
    subprocess.Popen.__init__ = _refuse(f"subprocess: {_NO_PROGRAMS}")
    subprocess.Popen.__del__ = lambda self: None


def install():
    is_wasm = sys.platform == "wasi"
    sys.meta_path.append(_Missing(is_wasm))
    if is_wasm:
        _install_wasm()
