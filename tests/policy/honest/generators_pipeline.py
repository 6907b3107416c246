import itertools
from collections.abc import Iterable, Iterator


def read(lines: Iterable[str]) -> Iterator[list[str]]:
    for line in lines:
        yield line.split()


def numbers(rows):
    for row in rows:
        yield from (float(cell) for cell in row if cell.replace(".", "", 1).isdigit())


def running_mean():
    total = count = 0
    mean = None
    while True:
        value = yield mean
        total += value
        count += 1
        mean = total / count


averager = running_mean()
next(averager)
means = [averager.send(n) for n in numbers(read(["1 2 x", "3.5", ""]))]
pairs = list(itertools.pairwise(means))
groups = {k: list(g) for k, g in itertools.groupby(sorted(range(10), key=lambda n: n % 3), key=lambda n: n % 3)}
print(means, pairs, groups)
