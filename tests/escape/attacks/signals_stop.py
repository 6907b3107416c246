# harm: a cell that stops itself is waited for for ever
# engines: native
# expect: completed limit/wall_time
# limit: wall_seconds=0.5
import os, signal, threading, time
for stop in (lambda: signal.raise_signal(signal.SIGSTOP), lambda: os.kill(os.getpid(), signal.SIGSTOP),
             lambda: signal.raise_signal(signal.SIGTSTP)):
    try:
        stop()
    except OSError:  # Refused in tier landlock.
        pass
