# harm: the file that the interpreter's memory is mapped from is changed, for every cell that comes after
# engines: native
# expect: completed
# never: done
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
libc.mremap.restype = libc.malloc.restype = ctypes.c_long
MADV_REMOVE, MREMAP_MAYMOVE, MS_SYNC = 9, 1, 4
for thing in (json, json.loads, json.__dict__, int, None, libc.malloc(1 << 12)):
    page = (thing if isinstance(thing, int) else id(thing)) & ~4095
    if libc.madvise(ctypes.c_long(page), 4096, MADV_REMOVE) == 0:
        print("done: punched a hole")
    # Of a shared mapping this would be a second one.
    if libc.mremap(ctypes.c_long(page), 0, 4096, MREMAP_MAYMOVE) != -1:
        print("done: mapped again")
    libc.msync(ctypes.c_long(page), 4096, MS_SYNC)
json.left = "behind"
