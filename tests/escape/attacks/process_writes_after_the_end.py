# harm: a child goes on writing to the bridge after its parent has reported
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed failed
# limit: processes=4 wall_seconds=5
import os
if os.fork() == 0:
    while True:
        os.write(3, b"\xff" * 4096)
        os.write(1, b"x" * 4096)
"parent"
