# Integer and float loops at module level and in functions, as quick calculations use them.
total = 0
for i in range(60000):
    if i % 3 == 0 or i % 5 == 0:
        total += i
print(total)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


print(max(range(1, 1500), key=collatz))


def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[0:2] = b"\0\0"
    for i in range(2, int(limit**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = bytes(len(range(i * i, limit + 1, i)))
    return [i for i, flag in enumerate(sieve) if flag]


print(len(primes(50000)))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(17))

balance = 1000.0
for year in range(2000):
    interest = balance * 0.0003
    balance = round(balance + interest, 6)
print(f"{balance:.2f}")
print(2**500 % 1000007, pow(3, 1000, 10**9 + 7), divmod(-17, 5), 12345678901234567890 * 98765432109876543210)


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


m = [[(i * j) % 7 + 0.5 for j in range(18)] for i in range(18)]
print(sum(map(sum, matmul(m, m))))
