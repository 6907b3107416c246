# harm: a stack that overflows in C writes where another thread's begins
# engines: native
# expect: failed limit
# limit: wall_seconds=5
import sys, threading
sys.setrecursionlimit(2**31 - 1)
def deep(n):
    return max(map(deep, [n + 1]))
threading.stack_size(256 << 10)
threads = [threading.Thread(target=deep, args=(0,)) for _ in range(4)]
for thread in threads:
    thread.start()
deep(0)
