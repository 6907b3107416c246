from dataclasses import dataclass


@dataclass(slots=True, kw_only=False)
class Point:
    x: float
    y: float


@dataclass
class Circle:
    center: Point
    radius: float


@dataclass
class Rectangle:
    corner: Point
    width: float
    height: float


def area(shape):
    match shape:
        case Circle(radius=r):
            return round(3.14159 * r * r, 2)
        case Rectangle(_, w, h):
            return w * h
        case Point(0, 0):
            return "origin"
        case Point(x, y) if x == y:
            return f"diagonal at {x}"
        case Point():
            return "point"
        case [Point(x=0), *rest]:
            return f"list with {len(rest)} more"
        case {"kind": "square", "side": side, **others}:
            return side * side, others
        case str() as text if text.isdigit():
            return int(text)
        case int(n) | float(n):
            return n
        case None | True | False:
            return "constant"
        case _:
            return "unknown"


for shape in (Circle(Point(0, 0), 2), Rectangle(Point(1, 1), 3, 4), Point(0, 0), Point(2, 2), Point(1, 2),
              [Point(0, 1), 1, 2], {"kind": "square", "side": 3, "color": "red"}, "12", 4.5, None, object):
    print(area(shape))
