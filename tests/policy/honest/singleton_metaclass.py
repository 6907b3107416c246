import abc
from typing import Any, ClassVar, Protocol, runtime_checkable


class Singleton(type):
    _instances: ClassVar[dict[type, Any]] = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls._instances:
            cls._instances[cls] = super().__call__(*args, **kwargs)
        return cls._instances[cls]


class Settings(metaclass=Singleton):
    def __init__(self):
        self.values = {}

    def __getattr__(self, name):
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


@runtime_checkable
class Speaker(Protocol):
    def speak(self) -> str: ...


class Animal(abc.ABC):
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.kind = cls.__name__.lower()

    @abc.abstractmethod
    def speak(self) -> str:
        """What it says."""


class Dog(Animal):
    def speak(self):
        return f"{self.kind}: woof"


Settings().values["debug"] = True
print(Settings() is Settings(), Settings().debug, isinstance(Dog(), Speaker), Dog().speak())
