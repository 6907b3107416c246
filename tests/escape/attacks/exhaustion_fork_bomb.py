# harm: a new process on the host
# expect: completed
# never: started
import os, subprocess, sys
import multiprocessing
ways = [lambda: os.fork(), lambda: os.forkpty(), lambda: os.system("touch " + CANARY_DIR + "/x"), lambda: os.popen("id").read(),
        lambda: os.posix_spawn("/bin/sh", ["sh"], {}), lambda: os.execv("/bin/sh", ["sh"]), lambda: os.spawnl(0, "/bin/sh", "sh"),
        lambda: subprocess.run(["id"]), lambda: subprocess.Popen("id", shell=True), lambda: multiprocessing.Process(target=print).start()]
try:
    import posix
    ways += [lambda n=n: getattr(posix, n)("/bin/sh", ["sh"], {}) for n in dir(posix) if "exec" in n or "spawn" in n or "fork" in n]
except ImportError:
    pass
for way in ways:
    try:
        if (got := way()) not in (-1, 127 << 8):  # What system() gives when it could not.
            print("started", got)
    except (OSError, AttributeError, ImportError, RuntimeError, TypeError, NotImplementedError, ValueError):
        pass
