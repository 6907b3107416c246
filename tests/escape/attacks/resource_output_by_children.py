# harm: output of many processes at once goes beyond its cap
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed failed limit/wall_time
# limit: processes=8 wall_seconds=0.7
import os
for _ in range(5):
    os.fork()
while True:
    os.write(1, b"o" * 65536)
    os.write(2, b"e" * 65536)
