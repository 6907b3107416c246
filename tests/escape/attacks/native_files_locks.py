# harm: locks on files that all cells share are seen by the others, and are kernel memory that no limit counts
# engines: native
# expect: completed
# never: locked
import fcntl, glob, json, os, re, struct
F_OFD_SETLK = 37
held = []
for path in [json.__file__, re.__file__, *glob.glob(os.path.dirname(json.__file__) + "/*.py"), "/etc/passwd", "/dev/null"]:
    try:
        file = open(path)
    except OSError:
        continue
    held.append(file)
    for name, lock in (("flock", lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)),
                       ("ofd", lambda: fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)))):
        try:
            lock()
            print("locked", name, path)
        except OSError:
            pass
# Seems to work, and does nothing: no lock can be without a descriptor that is open for writing.
for i in range(10_000):
    fcntl.lockf(held[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * i)
