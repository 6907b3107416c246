# harm: generators within generators, closed all at once, take the stack
# expect: completed failed limit
import itertools, sys
sys.setrecursionlimit(10**9)
def nest(g):
    yield from g
g = iter([1])
for _ in range(200_000):
    g = nest(g)
try:
    next(g)
except (RecursionError, MemoryError):
    pass
del g
i = iter([1])
for _ in range(100_000):
    i = itertools.chain(i)
next(i)
