# harm: a signal reaches a process that is not the cell's
# engines: native
# expect: completed failed limit
# limit: wall_seconds=2
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
TKILL, TGKILL, RT_SIGQUEUEINFO = 200, 234, 129
others = [-1, 0, os.getppid(), 1, *range(2, 400), *(-n for n in range(2, 400)), 2**15, 2**22 - 1]
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    for pid in others:
        try:
            os.kill(pid, number)
        except (OSError, OverflowError):
            pass
        libc.syscall(TKILL, pid, number)
        libc.syscall(TGKILL, pid, pid, number)
