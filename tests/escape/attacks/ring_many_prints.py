# harm: millions of tiny writes starve everybody else on the lane
# expect: completed limit/wall_time
# limit: wall_seconds=2
import os
for i in range(2_000_000):
    print(i, flush=True)
    os.write(2, b"e")
