"""Prepares the interpreter for the snapshot. Runs once, when the snapshot is made."""

import atexit
import gc
import importlib
import importlib.machinery
import io
import os
import sys

# Modules that code usually imports, and their imports.
_USUAL = """
abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath codecs collections
collections.abc contextlib copy csv dataclasses datetime decimal difflib enum errno fractions
functools glob hashlib heapq hmac html importlib inspect io itertools json keyword linecache locale
logging math numbers operator os os.path pathlib pprint queue re secrets shutil statistics string
struct tempfile textwrap threading time traceback types typing unicodedata urllib.parse uuid
warnings weakref zlib zoneinfo random
""".split()

# Where cells are forked, every page of the parent costs each of them: only small modules. All of
# the above are available under the name `stdlib`.
_LIGHT = "collections datetime functools itertools json math random re statistics string".split()


class _Reseeding:
    """Finds and loads `random`, hidden until code imports it, with a seed for each run.

    Otherwise all runs that start from one snapshot would draw the same numbers."""

    module = None

    def find_spec(self, name, path=None, target=None):
        if name == "random" and self.module is not None:
            return importlib.machinery.ModuleSpec(name, self, origin=self.module.__file__)
        return None

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.seed()


class _LazyRandom:
    """Replaces `random` in library modules that imported it before the snapshot."""

    def __getattr__(self, name):
        return getattr(importlib.import_module("random"), name)


class _StartTime:
    """The start time of the program for logging: set when a run first asks, not when the snapshot
    is made."""

    def __rsub__(self, now):
        sys.modules["logging"]._startTime = now
        return 0.0


def _shut_down_when_used(logging):
    """Registers logging's exit handler with the first handler that code makes, which few runs do."""
    add = logging._addHandlerRef

    def add_first(handler):
        logging._addHandlerRef = add
        atexit.register(logging.shutdown)
        add(handler)

    atexit.unregister(logging.shutdown)
    logging._addHandlerRef = add_first


class _Loader:
    """The loader of __main__: inspect and linecache get the source from it."""

    @staticmethod
    def get_source(name):
        import _caisson

        return _caisson.source()


def reseed():
    """Call in a forked cell: gives it its own random state."""
    for name in ("random", "numpy.random"):
        if module := sys.modules.get(name):
            module.seed()


def _set_random_aside():
    random = sys.modules.pop("random")
    lazy = _LazyRandom()
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is random:
                setattr(module, name, lazy)
            elif getattr(value, "__self__", None) is random._inst:
                raise RuntimeError(f"{module.__name__}.{name} would repeat itself in every run")
    _Reseeding.module = random
    sys.meta_path.insert(0, _Reseeding())


def _open_as_pipe(descriptor, name):
    """Returns the stream for a cell. Whether it can seek is decided here only, where it may be a
    file."""
    kept, ends = os.dup(descriptor), os.pipe()
    os.dup2(ends[1], descriptor)
    stream = open(descriptor, "w", closefd=False)
    stream.buffer.raw.name, stream.mode = f"<{name}>", "w"
    os.dup2(kept, descriptor)
    for one in (kept, *ends):
        os.close(one)
    return stream


def _open_streams():
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream.seekable():
            stream = _open_as_pipe(descriptor, name)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8")


def _import_all(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            if name not in ("zlib",):
                raise


def _preload(forks, preload):
    names = preload.split()
    _import_all(_USUAL if not forks or "stdlib" in names else _LIGHT)
    _import_all(name for name in names if name != "stdlib")


def modules(forks, preload):
    """Imports modules, and replaces functions that differ in a cell.

    `forks`: cells are separate processes, so they sleep and wait by themselves. `preload` names
    further modules to import; None: not even the usual ones."""
    import _caisson
    import _sitebuiltins
    import builtins
    import linecache
    import time
    import warnings

    import caisson
    import caisson.own
    import caisson.without
    from caisson import report

    _open_streams()
    if forks:
        import caisson.lazy

        caisson.lazy.install()
    if preload is not None:
        _preload(forks, preload)

    # Functions of `site` that code often calls.
    builtins.exit = _sitebuiltins.Quitter("exit", "")
    builtins.quit = _sitebuiltins.Quitter("quit", "")
    builtins.help = _sitebuiltins._Helper()
    builtins.ToolError = caisson.ToolError
    builtins.ApprovalDenied = caisson.ApprovalDenied
    builtins.UncertainError = caisson.UncertainError
    if logging := sys.modules.get("logging"):
        logging._startTime = _StartTime()
        _shut_down_when_used(logging)
    if not forks:
        import caisson.loop

        time.sleep = _caisson.sleep
        caisson.loop.install(may_have_threads=False)
        for guard in caisson.own.GUARDS.values():
            guard()
    caisson.without.install()
    warnings._warn_unawaited_coroutine = report.warn_unawaited
    linecache.cache["main.py"] = (_caisson.source,)
    main = sys.modules["__main__"]
    main.__file__ = "main.py"
    main.__loader__ = _Loader()


async def _nothing():
    pass


def _warm_up(forks):
    """Performs once what most runs do, so that caches and lazily made objects are in the snapshot."""
    import json
    import re

    namespace = {}
    source = "x = [i * 2 for i in range(50)]\ns = f'{sum(x)} {x[0]:.2f}'\nd = {'a': s}"
    for _ in range(3):
        exec(compile(source, "<warm-up>", "exec"), namespace)
        json.loads(json.dumps({"a": [1, 2.5, None, "x"]}))
        re.match(r"\w+", "abc")
        if not forks:
            sys.modules["caisson.loop"].run(_nothing())
    re.purge()


def finish(forks, preload):
    """The last step: everything that exists now is part of every run, and never collected."""
    _warm_up(forks)
    if not forks:
        _set_random_aside()
    sys.modules["linecache"].cache["main.py"] = (sys.modules["_caisson"].source,)
    if sys.platform == "wasi":
        # The directory where code may write and whose files are captured.
        sys.modules["os"].chdir("/output")
    gc.collect()
    gc.freeze()
