from dataclasses import dataclass
from math import pi


@dataclass
class Circle:
    radius: float


@dataclass
class Rectangle:
    width: float
    height: float


def area(shape):
    match shape:
        case Circle(radius=r):
            return pi * r**2
        case Rectangle(w, h) if w == h:
            print("a square")
            return w * h
        case Rectangle(w, h):
            return w * h
        case {"type": "triangle", "base": b, "height": h, **rest}:
            return b * h / 2
        case [first, *others]:
            return area(first) + sum(area(s) for s in others)
        case None | []:
            return 0
        case _:
            raise TypeError(f"unknown shape: {shape!r}")


round(area([Circle(1), Rectangle(2, 2), {"type": "triangle", "base": 2, "height": 3}]), 3)
