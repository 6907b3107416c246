# harm: a repr that recurses through C takes the stack, and the worker with it
# expect: completed failed limit
import sys
sys.setrecursionlimit(10**6)
a = []
for i in range(10**5):
    a = [a]
try:
    repr(a)
except (RecursionError, MemoryError):
    pass
class R:
    def __repr__(self): return repr([self])
R()
