from functools import cache, partial, reduce
from itertools import count, islice
from operator import add, mul


def transpose(m):
    return [list(row) for row in zip(*m)]


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


@cache
def ways(n, coins=(1, 2, 5)):
    if n == 0:
        return 1
    if n < 0 or not coins:
        return 0
    return ways(n - coins[0], coins) + ways(n, coins[1:])


def primes():
    composites = {}
    for n in count(2):
        if n not in composites:
            yield n
            composites[n * n] = [n]
        else:
            for p in composites.pop(n):
                composites.setdefault(n + p, []).append(p)


print(transpose([[1, 2], [3, 4], [5, 6]]), matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
print(ways(10), list(islice(primes(), 10)), reduce(mul, range(1, 6)), partial(pow, 2)(5), reduce(add, [[1], [2]], []))
print(list(map(partial(int, base=2), ["101", "11"])), all(x > 0 for x in [1, 2]), any([]), sum(map(len, ["ab", "c"])))
