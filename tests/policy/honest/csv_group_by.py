import csv
import io
from collections import defaultdict

text = """region,product,units,price
north,apple,10,1.20
south,apple,7,1.10
north,pear,3,2.00
south,pear,,2.10
"""
rows = list(csv.DictReader(io.StringIO(text)))
revenue = defaultdict(float)
for row in rows:
    units = int(row["units"] or 0)
    revenue[row["region"]] += units * float(row["price"])
for region, total in sorted(revenue.items(), key=lambda item: -item[1]):
    print(f"{region:<8}{total:>8.2f}")
out = io.StringIO()
writer = csv.DictWriter(out, fieldnames=["region", "total"])
writer.writeheader()
writer.writerows({"region": r, "total": round(t, 2)} for r, t in revenue.items())
print(out.getvalue().replace("\r\n", "\n"))
