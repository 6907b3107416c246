import math
import time


def sieve(limit: int) -> list[int]:
    is_prime = [True] * (limit + 1)
    is_prime[0:2] = [False, False]
    for n in range(2, math.isqrt(limit) + 1):
        if is_prime[n]:
            is_prime[n * n :: n] = [False] * len(range(n * n, limit + 1, n))
    return [n for n, prime in enumerate(is_prime) if prime]


start = time.perf_counter()
found = sieve(10_000)
elapsed = time.perf_counter() - start
print(f"{len(found)} primes in {elapsed:.0f} s; the last is {found[-1]}")
assert found[:5] == [2, 3, 5, 7, 11]
