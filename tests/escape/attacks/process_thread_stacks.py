# harm: threads with giant stacks take memory that no limit counts
# engines: native
# expect: completed failed limit/memory
# limit: wall_seconds=5 memory_bytes=67108864
import threading
stop = threading.Event()
made = []
for size in (1 << 30, 1 << 28, 1 << 26, 1 << 24):
    try:
        threading.stack_size(size)
        for _ in range(16):
            made.append(threading.Thread(target=stop.wait))
            made[-1].start()
    except (RuntimeError, MemoryError, ValueError):
        made.pop()
stop.set()
for thread in made:
    thread.join()
