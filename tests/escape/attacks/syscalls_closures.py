# harm: libffi's closures are memory that is both written and executed
# engines: native
# expect: completed failed/crashed
# never: executable
import ctypes
try:
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    before = ctypes.string_at(address, 1)
    ctypes.memmove(address, b"\xc3", 1)
    print("executable", callback(1))
except (MemoryError, OSError):
    pass
