# Looks for traces of an earlier run. In a clean cell all of this is the same every time, including
# addresses, because every cell starts as the same bytes; only random values may differ, and must.
# Native cells start from the same interpreter, but the addresses of later imports depend on what
# the fork server was doing. A foreign interpreter is started for each cell: its addresses differ,
# and so does the order of hashed objects.
import sys

_names = sorted(globals())
_is_started = "caisson.runner" in sys.modules
_at_start = () if _is_started else set(sys.modules)
_blocks = None if _is_started else sys.getallocatedblocks()
import atexit, binascii, builtins, codecs, collections.abc, copyreg, decimal, gc, locale, numbers, os, signal, threading, time, warnings


def _described():
    for module_name in sorted(sys.modules):
        module = sys.modules[module_name]
        place = id if sys.platform == "wasi" or module_name in _at_start else lambda value: None
        yield module_name, place(module)
        for name, value in sorted(vars(module).items()):
            if module_name != "__main__":
                yield module_name, name, place(value), type(value).__name__
            if isinstance(value, type):
                yield module_name, name, len(vars(value)), [k.__name__ for k in value.__mro__]


def _missing(find):
    try:
        find()
        return False
    except LookupError:
        return True


def _listed(path):
    try:
        return os.listdir(path)
    except OSError as error:
        return type(error).__name__


def _first_descriptor():
    try:
        descriptor = os.open("/tmp", os.O_RDONLY)
    except OSError as error:
        return type(error).__name__
    os.close(descriptor)
    return descriptor


_state = {
    "globals": _names,
    "blocks": _blocks,
    "modules": binascii.crc32(repr(list(_described())).encode("utf-8", "ignore")),
    "builtins": len(vars(builtins)),
    "files": [_listed("/tmp"), _listed("/output"), _listed("/input")],
    "place": [os.getcwd(), sorted(os.environ.items()), sys.argv, sys.path, len(sys.meta_path), len(sys.path_hooks), _first_descriptor()],
    "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks), len(gc.garbage), len(gc.get_objects())],
    "settings": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(), sys.gettrace() is None, sys.getprofile() is None,
                 sys.get_coroutine_origin_tracking_depth(), str(sys.get_asyncgen_hooks())],
    "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.stdout is sys.__stdout__, atexit._ncallbacks()],
    "libraries": [len(warnings.filters), decimal.getcontext().prec, decimal.DefaultContext.prec, str(decimal.getcontext().flags), locale.setlocale(locale.LC_ALL),
                  len(copyreg.dispatch_table), issubclass(int, collections.abc.Sized), issubclass(str, numbers.Number),
                  _missing(lambda: codecs.lookup_error("leftover")), _missing(lambda: codecs.lookup("leftover"))],
    "threads": [threading.active_count(), len(threading._active)],
}
import random

_chance = [random.random(), os.urandom(8).hex(), hash("fixed") and time.monotonic_ns()]
[repr(_state), _chance]
