# harm: signals that mean a fault, sent on purpose, are taken for one of the host's decisions
# engines: native
# expect: completed failed limit/cpu_time
# repeat: 6
# limit: wall_seconds=2
import ctypes, os, signal
number = (signal.SIGSYS, signal.SIGXCPU, signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGTRAP)[SEED - 1]
os.kill(os.getpid(), number)
signal.raise_signal(number)
