# harm: what is in the page cache tells which library files other cells have read
# engines: native
# expect: completed
# never: told
import ctypes, json, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
with open(json.__file__, "rb") as file:
    fd = file.fileno()
    for advice in range(8):
        libc.posix_fadvise(fd, ctypes.c_long(0), ctypes.c_long(0), advice)
    at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0)))
    size = ctypes.c_size_t(4096)
    for name, advice in (("mergeable", 12), ("cold", 20), ("pageout", 21)):
        if libc.madvise(at, size, advice) == 0:
            print("told", name)
    if libc.mincore(at, size, ctypes.create_string_buffer(1)) == 0:
        print("told mincore")
    if libc.syscall(451, fd, ctypes.create_string_buffer(16), ctypes.create_string_buffer(40), 0) == 0:
        print("told cachestat")
    for flags in range(1, 256):
        try:
            os.preadv(fd, [bytearray(1)], 0, flags)
            print("told preadv2", flags)
        except OSError:
            pass
