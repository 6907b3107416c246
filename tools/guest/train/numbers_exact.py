# Decimal, fractions, statistics, math.
import cmath
import math
import statistics
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction

prices = [Decimal(i * 137 % 1000) / 100 for i in range(1, 500)]
total = sum(prices, Decimal(0))
print(total, (total * Decimal("0.19")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP), max(prices), Decimal("1.10") + Decimal("2.20"))
getcontext().prec = 50
print(Decimal(2).sqrt(), Decimal(1) / Decimal(7), Decimal("1e-7") * 3)
balance = Decimal("250000")
for month in range(240):
    interest = (balance * Decimal("0.035") / 12).quantize(Decimal("0.01"))
    balance = balance + interest - Decimal("1449.90")
print(balance)
print(sum(Fraction(1, n) for n in range(1, 60)), Fraction("0.125"), Fraction(3, 4) ** 3, float(Fraction(22, 7)))
data = [math.sin(i) * 10 + i % 7 for i in range(600)]
print(statistics.mean(data), statistics.median(data), statistics.stdev(data), statistics.quantiles(data, n=4), statistics.mode([1, 2, 2, 3]))
n, sx, sy = len(data), sum(range(len(data))), sum(data)
slope = (n * sum(i * y for i, y in enumerate(data)) - sx * sy) / (n * sum(i * i for i in range(n)) - sx * sx)
print(f"{slope:.6f}", math.gcd(84, 36), math.factorial(40), math.comb(50, 6), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4), math.log2(1024), cmath.sqrt(-2))
print(sum(math.exp(-((i / 100 - 3) ** 2)) * math.cos(i) + math.sqrt(i) - math.log(i + 1) for i in range(3000)))
print(round(2.675, 2), 7 // 2, -7 // 2, 7 % -3, 0.1 + 0.2, 1e308 * 10, int("ff", 16), bin(37), (255).to_bytes(2, "big"), float("1e-5"), str(1 / 3), math.floor(-2.5), math.prod(range(1, 9)))
