# harm: processes that make processes, until the machine has none left
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed failed limit
# limit: processes=16 wall_seconds=0.7
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
