# harm: mappings, touched and untouched, go beyond the memory limit
# engines: native
# expect: completed failed limit/memory
# limit: memory_bytes=100000000 wall_seconds=5
import mmap
held = []
for size in (1 << 40, 1 << 34, 1 << 30, 1 << 24, 1 << 20, 1 << 12):
    try:
        while len(held) < 100_000:
            held.append(mmap.mmap(-1, size))
            held[-1][0] = held[-1][size - 1] = 1
    except (OSError, MemoryError, OverflowError, ValueError):
        pass
assert sum(map(len, held)) <= 120_000_000
