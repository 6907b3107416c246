# harm: a child that keeps stdout open and silent keeps the host waiting for its end
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed
# limit: processes=4 wall_seconds=5
import os, time
for _ in range(2):
    if os.fork() == 0:
        time.sleep(1000)
print("the parent has ended")
