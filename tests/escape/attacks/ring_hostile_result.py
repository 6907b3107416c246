# harm: a result that changes, raises or recurses while it is encoded
# expect: completed failed limit
class D(dict):
    def items(self): raise RuntimeError
    def __iter__(self): return iter(range(10**9))
    def __len__(self): return 2**31 - 1
class L(list):
    def __iter__(self): self.append(0); return iter(self)
    def __len__(self): return -5
class S(str):
    def __str__(self): return self * 10
    def encode(self, *a): return b"\xff\xff"
class I(int):
    def __index__(self): raise ValueError
    def to_bytes(self, *a): return b""
class F(float):
    def __float__(self): raise ValueError
nested = []
for _ in range(1000):
    nested = [nested]
[D(a=1), L([1]), S("x"), I(2**70), F(1.5), nested, {S("k"): 1}, "\ud800", {1: 2, "1": 3}]
