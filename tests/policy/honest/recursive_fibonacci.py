from functools import lru_cache, reduce


@lru_cache(maxsize=None)
def fib(n):
    """Return the n-th Fibonacci number."""
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def gcd(*numbers):
    def pair(a, b):
        while b:
            a, b = b, a % b
        return a

    return reduce(pair, numbers)


print(fib.__doc__)
print([fib(i) for i in range(20)], fib.cache_info().hits)
gcd(fib(18), fib(12), fib(30))
