# harm: bytes of the code's own are executed as machine code
# engines: native
# not landlock: it depends on the mount of the scratch directory there (docs/engines.md, noexec_files)
# expect: completed
# never: executable
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
FAILED, READ, WRITE, EXEC, SHARED, PRIVATE, ANONYMOUS = 2**64 - 1, 1, 2, 4, 1, 2, 0x20
def show(how, got):
    if got not in (None, FAILED, -1):
        print("executable", how)
for protection in (READ | WRITE | EXEC, WRITE | EXEC, READ | EXEC, EXEC):
    for flags in (PRIVATE | ANONYMOUS, SHARED | ANONYMOUS):
        show("anonymous", libc.mmap(None, 4096, protection, flags, -1, 0))
page = libc.mmap(None, 4096, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
for protection in (READ | WRITE | EXEC, READ | EXEC, EXEC):
    show("mprotect", libc.mprotect(page, 4096, protection))
    show("pkey_mprotect", libc.syscall(329, ctypes.c_void_p(page), 4096, protection, -1))
text = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
show("code made writable", libc.mprotect(text, 4096, READ | WRITE | EXEC))
for path in ("/tmp/code", "/output/code"):
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        os.write(fd, b"\xc3" * 4096)
    except OSError:
        continue
    for flags in (PRIVATE, SHARED):
        for protection in (READ | EXEC, READ | WRITE | EXEC):
            show(path, libc.mmap(None, 4096, protection, flags, fd, 0))
    window = libc.mmap(None, 4096, READ | WRITE, SHARED, fd, 0)
    if window != FAILED:
        show("a file's window", libc.mprotect(window, 4096, READ | EXEC))
show("shmat", libc.syscall(30, libc.syscall(29, 0, 4096, 0o1777), None, 0o100000))
show("memfd", libc.syscall(319, b"x", 0))
