# harm: int 0x80, sysenter and vsyscalls reach the kernel beside the filter
# engines: native
# expect: completed failed/denied_syscall failed/crashed
# never: returned
# repeat: 3
import ctypes, struct

# There is no memory to write code into; but the bytes stand in the middle of some library's own instructions.
def find(code):
    library = ctypes.CDLL("libcrypto.so.3")
    class Info(ctypes.Structure):
        _fields_ = [("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                    ("address", ctypes.c_void_p)]
    info = Info()
    assert ctypes.CDLL(None).dladdr(ctypes.cast(library.SHA256, ctypes.c_void_p), ctypes.byref(info))
    header = ctypes.string_at(info.base, 4096)
    offset, = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for i in range(count):
        kind, flags, _, address, _, length = struct.unpack_from("<IIQQQQ", header, offset + i * size)
        if kind == 1 and flags & 1:
            at = ctypes.string_at(info.base + address, length).find(code)
            assert at >= 0, "this library has no such bytes: look for another"
            return info.base + address + at

if SEED == 1:
    ctypes.CFUNCTYPE(ctypes.c_long)(find(b"\xcd\x80"))()
    print("int 0x80 returned")
elif SEED == 2:
    # Emulated by the kernel, filter and all; it tells the time, which is allowed.
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(0xFFFFFFFFFF600000)(None, None)
else:
    ctypes.CFUNCTYPE(ctypes.c_long)(find(b"\x0f\x34"))()
    print("sysenter returned")
