# harm: one page in each two megabytes makes tables that cost more than the pages
# engines: native
# expect: completed failed limit/memory
# limit: wall_seconds=5
import mmap
held = []
try:
    for _ in range(10_000):
        held.append(mmap.mmap(-1, 2 << 20))
        held[-1][0] = 1
except (OSError, MemoryError):
    pass
assert len(held) < 200, len(held)
