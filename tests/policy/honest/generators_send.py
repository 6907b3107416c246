def averager():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        if value is None:
            return total
        total += value
        count += 1
        average = total / count


def flatten(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item


def outer():
    result = yield from averager()
    print("inner returned", result)


g = outer()
next(g)
print([g.send(n) for n in (10, 20, 30)])
try:
    g.send(None)
except StopIteration:
    print("done")
print(list(flatten([1, [2, (3, [4])], 5])))
numbers = (n * n for n in range(10) if n % 2)
print(next(numbers), sum(numbers))
