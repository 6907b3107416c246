# harm: a gigabyte of output fills the ring, the host or the outcome
# expect: completed limit/memory limit/wall_time
# limit: wall_seconds=5
import sys
line = "x" * (1 << 20)
for _ in range(1000):
    sys.stdout.write(line)
    sys.stderr.write(line)
