# harm: signals and timers of the worker process itself are set or sent by the code
# expect: completed failed
# expect native: completed failed limit/wall_time
# limit: wall_seconds=1
import os, signal
for way in (lambda: signal.signal(signal.SIGALRM, lambda *a: None), lambda: signal.alarm(1), lambda: signal.setitimer(0, 0.01, 0.01),
            lambda: os.kill(os.getpid(), 9), lambda: os.kill(1, 9), lambda: os.kill(-1, 9), lambda: os.killpg(0, 9),
            lambda: signal.pthread_kill(0, 9), lambda: signal.pause(), lambda: signal.sigwait([2]), lambda: os.nice(-20),
            lambda: os.sched_setaffinity(0, [0]), lambda: os.setuid(0), lambda: os.chroot("/"), lambda: os.mknod("/tmp/dev"), lambda: os.umask(0),
            lambda: signal.raise_signal(9)):
    try:
        way()
    except (OSError, AttributeError, ValueError, NotImplementedError, ImportError):
        pass
