from typing import (Any, Callable, Dict, Generic, Iterable, List, Literal, NamedTuple, Optional, Protocol, Tuple, TypedDict,
                    TypeVar, Union, cast, overload, runtime_checkable)

T = TypeVar("T")
K = TypeVar("K", bound="Comparable")


@runtime_checkable
class Comparable(Protocol):
    def __lt__(self, other: Any) -> bool: ...


class Stack(Generic[T]):
    def __init__(self, items: Optional[Iterable[T]] = None) -> None:
        self._items: List[T] = list(items or [])

    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self

    def pop(self) -> T:
        return self._items.pop()


class Movie(TypedDict, total=False):
    title: str
    year: int


class Employee(NamedTuple):
    name: str
    id: int = 3

    def greet(self) -> str:
        return f"hi {self.name}"


@overload
def double(x: int) -> int: ...
@overload
def double(x: str) -> str: ...
def double(x):
    return x * 2


def apply(f: Callable[[T], T], x: T, mode: Literal["once", "twice"] = "once") -> Union[T, Tuple[T, T]]:
    return f(x) if mode == "once" else (f(x), f(f(x)))


movie: Movie = {"title": "Up", "year": 2009}
e = Employee("ann")
match e:
    case Employee(name, id):
        print(name, id)
print(Stack([1]).push(2).pop(), movie, e, e.greet(), double("a"), apply(double, 2, "twice"))
print(isinstance(3, Comparable), cast(Dict[str, int], {}))
