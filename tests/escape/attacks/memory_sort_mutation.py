# harm: lists and dicts changed by the comparison functions of the C code that walks them
# expect: completed failed limit
# limit: wall_seconds=2
class K:
    def __init__(self, n): self.n = n
    def __lt__(self, other): things.clear(); things.extend([0] * 1000); return self.n < other.n
    def __eq__(self, other): table.clear(); table[K(99)] = 1; return False
    def __hash__(self): return 1
    def __del__(self): things.append(self.n)
table = {}
things = [K(i) for i in range(100)]
for use in (lambda: things.sort(), lambda: sorted(things), lambda: min(things), lambda: table.update({K(i): i for i in range(50)}),
            lambda: things.index(K(5)), lambda: things.remove(K(5)), lambda: table.pop(K(3)), lambda: {K(1)} & {K(1), K(2)}):
    try:
        use()
    except Exception:
        pass
    things = [K(i) for i in range(100)]
