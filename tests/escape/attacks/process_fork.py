# harm: code that may have one process makes another
# engines: native
# expect: completed
# never: child
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
FORK, VFORK, CLONE, CLONE3, SIGCHLD, CLONE_VM, CLONE_VFORK = 57, 58, 56, 435, 17, 0x100, 0x4000
arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD)
for way in (os.fork, os.forkpty, lambda: libc.fork(), lambda: libc.syscall(FORK), lambda: libc.syscall(VFORK),
            lambda: libc.syscall(CLONE, SIGCHLD, 0, 0, 0, 0), lambda: libc.syscall(CLONE, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0),
            lambda: libc.syscall(CLONE3, arguments, 88)):
    try:
        made = way()
        if made != -1:
            os.write(1, b"a child")
            os._exit(0)
    except OSError:
        pass
