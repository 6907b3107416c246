# harm: the far ends of the streams are read or filled
# engines: native
# not landlock: /proc shows the cell its own streams there, and it alone can open them
# expect: completed failed
# never: read
import os
for fd in (1, 2):
    try:
        print("read", os.read(fd, 10))
    except OSError:
        pass
for path in ("/dev/stdout", "/dev/stderr", "/dev/fd/3", "/proc/self/fd/1", "/proc/thread-self/fd/3"):
    for flags in (os.O_RDONLY, os.O_RDWR):
        try:
            print("read", os.open(path, flags))
        except OSError:
            pass
