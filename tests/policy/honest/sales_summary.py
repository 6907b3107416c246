import csv
import io
from collections import defaultdict
from statistics import mean, median

DATA = """region,product,units,price
north,apple,10,1.20
south,pear,4,2.50
north,pear,7,2.40
east,apple,12,1.10
"""

totals = defaultdict(float)
units = defaultdict(list)
for row in csv.DictReader(io.StringIO(DATA)):
    amount = int(row["units"]) * float(row["price"])
    totals[row["region"]] += amount
    units[row["product"]].append(int(row["units"]))

for region, total in sorted(totals.items(), key=lambda item: -item[1]):
    print(f"{region:<10}{total:>10.2f}")

summary = {name: {"mean": mean(values), "median": median(values)} for name, values in units.items()}
summary
