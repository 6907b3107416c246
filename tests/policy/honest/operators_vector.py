import math
from functools import total_ordering


@total_ordering
class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x=0.0, y=0.0):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vector(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        if isinstance(k, Vector):
            return self.x * k.x + self.y * k.y
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return self.x * o.y - self.y * o.x

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __eq__(self, o):
        return isinstance(o, Vector) and (self.x, self.y) == (o.x, o.y)

    def __lt__(self, o):
        return abs(self) < abs(o)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(self.x or self.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __format__(self, spec):
        return f"({self.x:{spec}}, {self.y:{spec}})"

    def __repr__(self):
        return f"Vector({self.x!r}, {self.y!r})"

    @classmethod
    def from_polar(cls, r, angle):
        return cls(r * math.cos(angle), r * math.sin(angle))

    @staticmethod
    def zero():
        return Vector()


a, b = Vector(3, 4), Vector(1, 2)
print(a + b, a - b, 2 * a, a * b, a @ b, -a, abs(a), a > b, a != b, bool(Vector.zero()))
x, y = a
print(f"{a:.1f}", a[0], {a: 1}[Vector(3, 4)], max([a, b]), sum([a, b], Vector()))
print(format(Vector.from_polar(1, 0), ".2f"))
