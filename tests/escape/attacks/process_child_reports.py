# harm: a forked child runs the guest logic to its end too, and reports for its parent
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed failed limit
# limit: processes=4 wall_seconds=1
import os
if os.fork() == 0:
    tool(b"from the child")
    raise SystemExit(7)
os.wait()
tool(b"from the parent")
