# Reads a mounted directory of the host, and writes a file that is returned.
#
#   caisson run --mount data:/input --output results files.py
import csv
from collections import Counter

totals = Counter()
with open("/input/sales.csv", newline="") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += int(row["amount"])

with open("/output/totals.csv", "w") as file:
    for region, amount in sorted(totals.items()):
        print(region, amount, sep=",", file=file)

try:
    open("/input/sales.csv", "a")
except OSError as error:
    print("the mount is read-only:", error.strerror)

dict(totals)
