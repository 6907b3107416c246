# harm: arguments whose upper halves a filter does not look at pass its checks
# engines: native
# expect: completed failed/denied_syscall
# never: passed
# repeat: 4
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
high = 1 << 32
libc.syscall.argtypes = [ctypes.c_uint64] * 7
calls = ((9, 0, 4096, high | 7, 0x22, 2**64 - 1, 0),     # mmap, executable.
         (56, high | 17, 0, 0, 0, 0, 0),                 # clone, a child.
         (157, high | 4, 1, 0, 0, 0, 0),                 # prctl, dumpable.
         (302, high | 0, 7, 0, 0, 0, 0))                 # prlimit.
libc.syscall.restype = ctypes.c_long
got = libc.syscall(*calls[SEED - 1])
if got != -1 and SEED != 4:
    print("passed", calls[SEED - 1], got)
