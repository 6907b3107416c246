# harm: processes that make processes, until the machine has none left
# engines: native
# expect: completed failed limit
# limit: processes=16 wall_seconds=0.7
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
