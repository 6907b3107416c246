# Classes, inheritance, properties, special methods, dataclasses, enums, protocols.
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, Flag, auto
from functools import cached_property, lru_cache, partial, reduce, singledispatch, total_ordering
from typing import Optional


class Shape(ABC):
    count = 0

    def __init__(self, name):
        self.name = name
        Shape.count += 1

    @abstractmethod
    def area(self): ...

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.area():.2f})"

    def __lt__(self, other):
        return self.area() < other.area()


class Circle(Shape):
    def __init__(self, name, r):
        super().__init__(name)
        self.r = r

    def area(self):
        return 3.14159 * self.r**2


class Box(Shape):
    __slots__ = ("w", "h")

    def __init__(self, name, w, h):
        super().__init__(name)
        self.w, self.h = w, h

    def area(self):
        return self.w * self.h


shapes = [Circle(f"c{i}", i % 17) if i % 2 else Box(f"b{i}", i % 13, i % 11) for i in range(800)]
print(max(shapes), sum(s.area() for s in shapes), Shape.count, sorted(shapes)[400])


@total_ordering
class Vector:
    def __init__(self, *values):
        self.values = values

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.values, other.values)))

    def __mul__(self, k):
        return Vector(*(a * k for a in self.values))

    def __eq__(self, other):
        return self.values == other.values

    def __lt__(self, other):
        return self.values < other.values

    def __hash__(self):
        return hash(self.values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]

    def __iter__(self):
        return iter(self.values)

    def __contains__(self, v):
        return v in self.values

    @cached_property
    def norm(self):
        return sum(v * v for v in self) ** 0.5

    @property
    def first(self):
        return self.values[0]

    @classmethod
    def zero(cls, n):
        return cls(*[0] * n)

    @staticmethod
    def dot(a, b):
        return sum(x * y for x, y in zip(a, b))


total = Vector.zero(3)
for i in range(500):
    total = total + Vector(i, i + 1, i + 2) * 2
print(total.values, len(total), total[1], total.norm, Vector.dot(total, total), total.first, 5 in total, Vector(1) < Vector(2))


@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)
    note: Optional[str] = None


items = [Item(i * 37 % 101, f"item{i}", [str(i)]) for i in range(300)]
print(min(items), asdict(items[3]), replace(items[4], price=1.0) == items[4])


class Color(Enum):
    RED = 1
    GREEN = 2


class Mode(Flag):
    R = auto()
    W = auto()


print(Color(2), Color["RED"].name, [c.value for c in Color], Mode.R | Mode.W, Mode.R in (Mode.R | Mode.W))


@lru_cache(maxsize=None)
def ways(n):
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)


@singledispatch
def describe(x):
    return "thing"


@describe.register
def _(x: int):
    return "int"


print(ways(90), describe(3), describe("s"), reduce(lambda a, b: a * b, range(1, 12)), partial(pow, 2)(9))
account = type("Account", (), {"balance": 0, "deposit": lambda self, n: setattr(self, "balance", self.balance + n)})()
for i in range(300):
    account.deposit(i)
print(account.balance, hasattr(account, "x"), getattr(account, "y", None), isinstance(account, object), callable(describe))
