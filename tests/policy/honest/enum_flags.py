import enum
from enum import Enum, Flag, IntEnum, StrEnum, auto, unique


@unique
class Color(Enum):
    RED = 1
    GREEN = 2

    @classmethod
    def parse(cls, text):
        return cls[text.upper()]

    @property
    def hex(self):
        return {"RED": "#f00", "GREEN": "#0f0"}[self.name]


class Permission(Flag):
    READ = auto()
    WRITE = auto()
    BOTH = READ | WRITE


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Unit(StrEnum):
    METRE = auto()


Animal = Enum("Animal", "CAT DOG")
print(Color.parse("red"), Color(2).name, [c.hex for c in Color], Color.__members__.keys())
print(Permission.READ in Permission.BOTH, Permission.READ | Permission.WRITE, Level.HIGH > Level.LOW, Unit.METRE)
print(list(Animal), Animal["CAT"].value, isinstance(Color.RED, enum.Enum))
try:
    Color("blue")
except ValueError as error:
    print(error)
