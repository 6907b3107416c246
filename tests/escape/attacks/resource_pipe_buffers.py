# harm: the kernel's buffers are memory that no limit counts
# engines: native
# expect: completed
# never: enlarged
import fcntl, os
F_SETPIPE_SZ = 1031
for fd in (1, 2, *os.pipe()):
    try:
        fcntl.fcntl(fd, F_SETPIPE_SZ, 1 << 20)
        print("enlarged", fd)
    except OSError:
        pass
