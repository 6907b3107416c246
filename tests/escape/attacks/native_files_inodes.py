# harm: files without end use up the kernel's memory, or drown the capture
# engines: native
# expect: completed failed limit
# limit: wall_seconds=5
import os
made = 0
try:
    while made < 200_000:
        os.close(os.open(f"/tmp/{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error:
    print(made, error)
try:
    for i in range(1000):
        os.symlink("x" * 4000, f"/output/link{i}")
except OSError as error:
    print(error)
assert made < 50_000, made
