# harm: a descriptor of the fork server or of the host is open in the cell
# engines: native
# expect: completed
# never: open
import os
# In tier landlock a cell holds the directories that it sees as these.
own = [os.stat(path).st_ino for path in ("/tmp", "/input", "/output") if os.path.isdir(path)]
for fd in range(4, 4096):
    try:
        status = os.fstat(fd)
    except OSError:
        continue
    if status.st_ino not in own:
        print("open", fd, status)
for fd in range(4):
    mode = os.fstat(fd).st_mode
    if fd == 0 and os.read(0, 1) != b"":
        print("open: stdin gives bytes")
