from collections import Counter
from itertools import product


def step(alive):
    counts = Counter(
        (x + dx, y + dy) for x, y in alive for dx, dy in product((-1, 0, 1), repeat=2) if dx or dy
    )
    return {cell for cell, n in counts.items() if n == 3 or (n == 2 and cell in alive)}


def show(alive, size=6):
    return "\n".join("".join("#" if (x, y) in alive else "." for x in range(size)) for y in range(size))


glider = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
history = [glider]
while len(history) < 5:
    history.append(step(history[-1]))
print(show(history[-1]))
