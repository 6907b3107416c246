from functools import cache
from typing import Sequence

Item = tuple[str, int, int]


def best(items: Sequence[Item], capacity: int) -> tuple[int, list[str]]:
    @cache
    def value(index: int, left: int) -> int:
        if index == len(items):
            return 0
        _, weight, worth = items[index]
        skip = value(index + 1, left)
        return skip if weight > left else max(skip, worth + value(index + 1, left - weight))

    chosen, left = [], capacity
    for i, (name, weight, worth) in enumerate(items):
        if weight <= left and value(i, left) == worth + value(i + 1, left - weight):
            chosen.append(name)
            left -= weight
    return value(0, capacity), chosen


best([("map", 9, 150), ("water", 153, 200), ("tin", 68, 45), ("sun cream", 11, 70)], 170)
