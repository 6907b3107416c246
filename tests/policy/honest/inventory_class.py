from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Iterator, Optional


class OutOfStock(Exception):
    def __init__(self, name: str, wanted: int, available: int) -> None:
        super().__init__(f"{name}: wanted {wanted}, have {available}")
        self.name = name
        self.wanted = wanted


@dataclass(order=True)
class Item:
    name: str
    quantity: int = 0
    price: float = field(default=0.0, compare=False)

    @property
    def value(self) -> float:
        return self.quantity * self.price


class Inventory:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        yield from sorted(self._items.values())

    def __contains__(self, name: str) -> bool:
        return name in self._items

    def find(self, name: str) -> Optional[Item]:
        return self._items.get(name)

    def add(self, item: Item) -> Inventory:
        self._items[item.name] = item
        return self

    def take(self, name: str, count: int = 1) -> None:
        item = self._items[name]
        if item.quantity < count:
            raise OutOfStock(name, count, item.quantity)
        item.quantity -= count


stock = Inventory().add(Item("bolt", 10, 0.25)).add(Item("anvil", 1, 120.0))
stock.take("bolt", 3)
try:
    stock.take("anvil", 2)
except OutOfStock as error:
    print("refused:", error)
print([asdict(item) for item in stock])
sum(item.value for item in stock)
