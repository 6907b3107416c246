# harm: a descriptor of the nursery or of the host is open in the cell
# engines: native landlock
# expect: completed
# never: open
import os
for fd in range(4, 4096):
    try:
        print("open", fd, os.fstat(fd))
    except OSError:
        pass
for fd in range(4):
    mode = os.fstat(fd).st_mode
    if fd == 0 and os.read(0, 1) != b"":
        print("open: stdin gives bytes")
