# harm: descriptors that are the worker's own (base, ring, eventfd) answer to the code
# expect: completed failed
# expect native: completed failed limit/wall_time
# limit: wall_seconds=1
import os
for fd in list(range(3, 80)) + [1 << 20, 2**31 - 1, -1, -(2**31)]:
    for use in (lambda: os.read(fd, 10), lambda: os.write(fd, b"\xff" * 64), lambda: os.close(fd), lambda: os.lseek(fd, 0, 2),
                lambda: os.fstat(fd), lambda: os.ftruncate(fd, 0), lambda: os.dup2(fd, 1), lambda: os.listdir(fd), lambda: os.fsync(fd)):
        try:
            print("fd", fd, use())
        except (OSError, OverflowError, AttributeError, TypeError, ValueError):
            pass
held = []
try:
    while True:
        held.append(open("/tmp/held", "w"))
except OSError:
    print(len(held))
