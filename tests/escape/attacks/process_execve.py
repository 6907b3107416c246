# harm: a program of the system runs in the cell's place
# engines: native
# expect: completed
# never: executed
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
EXECVE, EXECVEAT, AT_EMPTY_PATH = 59, 322, 0x1000
words = (ctypes.c_char_p * 3)(b"x", b"-c", None)
programs = ("/bin/sh", "/usr/bin/python3", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/proc/self/exe", sys.executable or "x")
for program in programs:
    for way in (lambda: os.execv(program, ["x"]), lambda: os.posix_spawn(program, ["x"], {}),
                lambda: libc.syscall(EXECVE, program.encode(), words, None), lambda: libc.system(b"echo executed")):
        try:
            if way() == 0:
                print("executed", program)
        except OSError:
            pass
    for path in (program, __import__("_ctypes").__file__):
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        if libc.syscall(EXECVEAT, fd, b"", words, None, AT_EMPTY_PATH) != -1:
            print("executed", path)
        os.close(fd)
