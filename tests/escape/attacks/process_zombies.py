# harm: children that nobody waits for use up the machine's process table
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed
# limit: processes=16
import os
made = 0
for _ in range(10_000):
    try:
        if os.fork() == 0:
            os._exit(0)
        made += 1
    except OSError:
        break
assert made <= 16, made
