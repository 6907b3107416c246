# harm: recursion without a limit, in Python and in C, takes the worker's stack
# expect: failed limit
import sys
sys.setrecursionlimit(2**31 - 1)
class A:
    def __getattr__(self, name): return getattr(self, name + "x")
def through_c(n): return max(map(through_c, [n + 1]))
def plain(n): return plain(n + 1) + 1
for way in (lambda: A().x, lambda: plain(0), lambda: through_c(0)):
    try:
        way()
    except (RecursionError, MemoryError):
        pass
raise RecursionError("all survived")
