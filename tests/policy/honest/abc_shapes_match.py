import math
from abc import ABC, abstractmethod
from dataclasses import dataclass


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...

    @property
    def name(self) -> str:
        return type(self).__name__


@dataclass
class Circle(Shape):
    radius: float

    def area(self):
        return math.pi * self.radius**2


@dataclass
class Square(Shape):
    side: float

    def area(self):
        return self.side**2


def describe(shape: Shape) -> str:
    match shape:
        case Circle(radius):
            return f"circle of radius {radius}"
        case Square(side):
            return f"square of side {side}"
    return "shape"


for shape in (Circle(1), Square(2)):
    print(describe(shape), shape.name, f"{shape.area():.3f}")
try:
    Shape()
except TypeError as error:
    print("abstract:", "abstract" in str(error))
