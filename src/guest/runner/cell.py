"""The life of a cell's process after its interpreter has started."""

import _signal
import _thread
import os
import sys
from types import ModuleType

from caisson import prepare
from caisson.runner import bridge as bridges
from caisson.runner import run, tools
from caisson.runner.values import decode

_THREAD_STACK_BYTES = 2 << 20
_OPEN_ALREADY = 4  # The streams and the socket.


def _make_main():
    """Makes a fresh __main__: the existing one belongs to the bootstrap."""
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv[:] = ["main.py"]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = ["python3"]


def _write_input_files(encoded):
    """As engine/native/forkserver/input_files.h."""
    for path, *contents in decode(encoded) if encoded else ():
        if len(contents) != 1:
            continue  # A mount: it already exists.
        try:
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        except OSError:
            pass  # Errors show when the file is made.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o444), "wb") as file:
            file.write(contents[0])


def _tighten(first, start):
    """Limits can only be lowered, so a session keeps the lowest that any of its runs had."""
    import resource

    def lower(kind, value):
        value = min(value, resource.getrlimit(kind)[1])
        resource.setrlimit(kind, (value, value))

    address_space = resource.getrlimit(resource.RLIMIT_AS)[1]
    lower(resource.RLIMIT_AS, address_space - max(first.memory_bytes - start.memory_bytes, 0))
    lower(resource.RLIMIT_NOFILE, start.open_files + _OPEN_ALREADY)


def serve(descriptor):
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    _thread.stack_size(_THREAD_STACK_BYTES)
    os.environ.pop("MALLOC_ARENA_MAX", None)  # It has already taken effect.
    _make_main()
    bridge = bridges.Bridge(descriptor)
    sys.modules["_caisson"] = bridges.as_module(bridge, lambda: runs.source)
    prepare.modules(True, None)
    tools.install(bridge)
    os.abort = bridge.abort
    runs = run.Runs(bridge)
    first = None
    while True:
        start, request, files = bridge.await_run()
        try:
            if first is not None:
                # Those of the first run were set before this process became Python.
                _tighten(first, start)
            first = first or start
            _write_input_files(files)
        except OSError as error:
            bridge.refuse(str(error))
            os._exit(1)
        bridge.report(*runs.run(run.Request(decode(request))))
