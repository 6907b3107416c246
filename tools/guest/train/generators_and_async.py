# Generators, coroutines, comprehensions, closures, decorators.
import functools
import itertools


def numbers(n):
    for i in range(n):
        yield i


def evens(source):
    for value in source:
        if value % 2 == 0:
            yield value


def squares(source):
    yield from (v * v for v in source)


print(sum(squares(evens(numbers(6000)))))


def averager():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


coroutine = averager()
next(coroutine)
for i in range(1500):
    last = coroutine.send(i)
coroutine.close()
print(last)

print(len([x for x in range(8000) if x % 7]), len({x % 97 for x in range(3000)}), len({x: str(x) for x in range(1500)}), sum(x * y for x in range(60) for y in range(60) if x != y))
matrix = [[i * j for j in range(40)] for i in range(40)]
print([sum(col) for col in zip(*matrix)][5], [x for row in matrix for x in row if x % 9 == 4][:5], any(x > 1500 for row in matrix for x in row), all(row for row in matrix))


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


@counted
def combine(a, b=2, *rest, scale=1, **options):
    return (a + b + sum(rest)) * scale + len(options)


for i in range(1200):
    combine(i)
    combine(i, 3, 4, 5, scale=2, extra=True)
print(combine.calls, combine.__name__)


def counter():
    n = 0

    def step(by=1):
        nonlocal n
        n += by
        return n

    return step


step = counter()
for _ in range(1500):
    step()
print(step(5))


class Ready:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield self
        return self.value


async def fetch(i):
    return await Ready(i) * 2


async def gather(n):
    return [await fetch(i) for i in range(n)]


task, steps = gather(400), 0
try:
    value = None
    while True:
        task.send(None)
        steps += 1
except StopIteration as done:
    print(steps, sum(done.value))
print(list(map(lambda p: p[0] * p[1], zip(range(5), itertools.count(10)))), list(filter(None, [0, 1, "", "a"])), list(enumerate("abc", 1)), list(reversed(range(3))))
