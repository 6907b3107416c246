import heapq
from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True)
class Job:
    priority: int
    name: Any = field(compare=False)


heap: list[Job] = []
for priority, name in [(3, "c"), (1, "a"), (2, "b")]:
    heapq.heappush(heap, Job(priority, name))
print([heapq.heappop(heap).name for _ in range(3)], heapq.nlargest(2, [5, 1, 9], key=lambda n: -n))
window = deque(maxlen=3)
for n in range(5):
    window.append(n)
window.rotate(1)
print(window, list(heapq.merge([1, 4], [2, 3])))
ordered = [1, 3, 5]
insort(ordered, 4)
print(ordered, bisect_left(ordered, 4))
