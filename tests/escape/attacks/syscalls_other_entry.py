# harm: int 0x80 and vsyscalls reach the kernel beside the filter
# engines: native landlock
# expect: completed failed/denied_syscall failed/crashed
# never: returned
# repeat: 3
import ctypes
libc = ctypes.CDLL(None)
# There is no memory to write code into; but the bytes may stand in the middle of some library's own.
at = ctypes.cast(libc.getpid, ctypes.c_void_p).value
if SEED == 1:
    code = ctypes.string_at(at, 300_000)
    found = code.find(b"\xcd\x80")
    if found >= 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(at + found)()
        print("int 0x80 returned")
elif SEED == 2:
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(0xFFFFFFFFFF600000)(None, None)
else:
    code = ctypes.string_at(at, 300_000)
    found = code.find(b"\x0f\x34")
    if found >= 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(at + found)()
        print("sysenter returned")
