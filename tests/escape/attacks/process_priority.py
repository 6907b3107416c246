# harm: code takes the processor from others: real-time class, other cores, better priority
# engines: native
# expect: completed
# never: taken
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
IOPRIO_SET, SCHED_SETATTR = 251, 314
for way in (lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, -20), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
            lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(99)), lambda: os.sched_setaffinity(0, range(os.cpu_count()))):
    try:
        way()
        print("taken")
    except (OSError, ValueError):
        pass
