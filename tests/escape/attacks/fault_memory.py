# harm: a fault of the interpreter's takes the fork server or the host along
# engines: native
# expect: failed/crashed
# repeat: 6
import ctypes, os
libc = ctypes.CDLL(None)
faults = (lambda: ctypes.string_at(0), lambda: ctypes.memset(8, 1, 100), lambda: libc.abort(), lambda: ctypes.CFUNCTYPE(None)(0)(),
          lambda: libc.free(ctypes.c_void_p(12345)), lambda: ctypes.memset(id(dict), 0xFF, 400) and dict())
faults[SEED - 1]()
