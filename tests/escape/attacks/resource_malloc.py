# harm: memory taken by C code is counted by nobody
# engines: native
# expect: completed failed limit/memory
# limit: memory_bytes=100000000 wall_seconds=5
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
total = 0
while pointer := libc.malloc(1 << 20):
    ctypes.memset(pointer, 1, 1 << 20)
    total += 1 << 20
assert total <= 120_000_000, total
