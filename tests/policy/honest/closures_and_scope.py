counter = 0


def bump(by=1, *, log=[]):
    global counter
    counter += by
    log.append(counter)
    return log


def make_account(balance):
    def deposit(amount):
        nonlocal balance
        balance += amount
        return balance

    def history(*entries, sep=", ", **options):
        return sep.join(map(str, entries)) + str(options)

    return deposit, history


deposit, history = make_account(10)
print(bump(), bump(by=4), deposit(5), deposit(5), history(1, 2, sep="-", k=1))
adders = [lambda x, n=n: x + n for n in range(3)]
print([f(10) for f in adders], (lambda *a, **k: (a, k))(1, z=2))
if (n := len([1, 2, 3])) > 2:
    print(f"{n} is many")
first, *middle, last = range(6)
print(first, middle, last, [*range(2), *"ab"], {**{"a": 1}, "b": 2})
for i in range(3):
    if i == 5:
        break
else:
    print("no break")
del deposit
x = y = z = 0
x, y = y + 1, x + 2
print(x, y, z, 1 < 2 < 3, not None, 7 // 2, -7 % 3, 2**10, 0b101 ^ 0x3, ~5, 1_000)
