counter = 0
cache = {}


def bump(by=1):
    global counter
    counter += by
    return counter


def make_accumulator():
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    return add


add = make_accumulator()
for n in range(5):
    bump(n)
    add(n * 10)
    cache[n] = counter
del cache[0]
print(counter, add(0), cache)
