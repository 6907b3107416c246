from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction

getcontext().prec = 28
CENT = Decimal("0.01")
lines = [("Consulting", Decimal("12.5"), Decimal("95.00")), ("Travel", Decimal(1), Decimal("230.456"))]
net = sum((quantity * price for _, quantity, price in lines), Decimal(0))
tax = (net * Decimal("0.19")).quantize(CENT, rounding=ROUND_HALF_UP)
template = "{:<20}{:>10}{:>12}"
print(template.format("Item", "Quantity", "Price"))
for name, quantity, price in lines:
    print(template.format(name, str(quantity), f"{price:.2f}"))
print("Total: {total:>10.2f} (tax {tax})".format(total=net + tax, tax=tax))
Fraction(3, 4) + Fraction("1/8") == Fraction(7, 8)
