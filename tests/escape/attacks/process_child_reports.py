# harm: a forked child runs the guest logic to its end too, and reports for its parent
# engines: native
# expect: completed failed limit
# limit: processes=4 wall_seconds=1
import os
if os.fork() == 0:
    tool(b"from the child")
    raise SystemExit(7)
os.wait()
tool(b"from the parent")
