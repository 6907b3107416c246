# harm: locks on files that all cells share stop the others
# engines: native landlock
# expect: completed
import fcntl, glob, json, os, re
held = []
for path in [json.__file__, re.__file__, *glob.glob(os.path.dirname(json.__file__) + "/*.py"), "/etc/passwd", "/dev/null"]:
    try:
        file = open(path)
        held.append(file)
        for lock in (lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)):
            lock()
    except OSError:
        pass
