# harm: the process group is the host's, and a signal to it kills the host
# engines: native
# expect: completed failed limit
# limit: wall_seconds=2
import os, signal
for way in (lambda: os.killpg(0, signal.SIGKILL), lambda: os.killpg(os.getpgrp(), signal.SIGKILL), lambda: os.killpg(os.getpgid(0), signal.SIGKILL),
            lambda: os.kill(0, signal.SIGKILL), lambda: os.killpg(1, signal.SIGKILL)):
    try:
        way()
    except OSError:
        pass
