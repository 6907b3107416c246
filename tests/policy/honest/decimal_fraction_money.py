from decimal import ROUND_HALF_UP, Decimal, getcontext, localcontext
from fractions import Fraction
import math
import cmath

getcontext().prec = 28
price = Decimal("19.99")
tax = (price * Decimal("0.0825")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
print(price + tax, Decimal(1) / Decimal(7), sum(map(Decimal, ["0.1"] * 3)) == Decimal("0.3"))
with localcontext() as context:
    context.prec = 5
    print(Decimal(2).sqrt())
print(Fraction(3, 6) + Fraction("0.25"), Fraction(1.5).limit_denominator(10))
print(math.gcd(12, 18), math.comb(5, 2), math.isclose(0.1 + 0.2, 0.3), math.prod([1, 2, 3]), math.inf > 10**400)
print(round(2.5), round(-1.567, 2), divmod(17, 5), cmath.sqrt(-1), complex(1, 2).conjugate(), 10**30 % 97)
