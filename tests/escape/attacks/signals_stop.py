# harm: a cell that stops itself is waited for for ever
# engines: native
# expect: completed limit/wall_time
# limit: wall_seconds=0.5
import os, signal, threading, time
signal.raise_signal(signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
signal.raise_signal(signal.SIGTSTP)
