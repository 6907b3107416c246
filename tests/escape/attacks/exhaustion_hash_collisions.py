# harm: keys that collide on purpose (the hash seed is known) slow others down, not only their own run
# expect: completed limit/wall_time
# limit: wall_seconds=1
class K:
    def __init__(self, n): self.n = n
    def __hash__(self): return 0
    def __eq__(self, other): return self.n == other.n
table = {K(i): i for i in range(20_000)}
numbers = {i * (2**61 - 1): 0 for i in range(50_000)}
