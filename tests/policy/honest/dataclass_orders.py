from dataclasses import asdict, astuple, dataclass, field, fields, replace
from typing import ClassVar, Optional


@dataclass(frozen=True, order=True)
class Money:
    cents: int
    currency: str = "EUR"

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise ValueError("currencies differ")
        return Money(self.cents + other.cents, self.currency)

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f} {self.currency}"


@dataclass
class Order:
    next_id: ClassVar[int] = 1
    customer: str
    items: list[Money] = field(default_factory=list)
    note: Optional[str] = None
    id: int = field(init=False)

    def __post_init__(self) -> None:
        self.id = Order.next_id
        Order.next_id += 1

    @property
    def total(self) -> Money:
        return sum(self.items, start=Money(0))


order = Order("ann", [Money(250), Money(125)])
print(order, order.total, sorted([Money(3), Money(1)])[0])
print(asdict(order), astuple(Money(5)), [f.name for f in fields(Order)])
print(replace(order.items[0], cents=1))
try:
    Money(1) + Money(1, "USD")
except ValueError as error:
    print("error:", error)
