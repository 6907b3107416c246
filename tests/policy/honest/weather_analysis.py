"""Summarise daily temperatures, month by month."""
import csv
import math
from collections import defaultdict
from datetime import datetime
from io import StringIO

raw = StringIO("date,temp\n2024-01-01,3.2\n2024-01-02,\n2024-02-01,n/a\n2024-02-03,7.75\n")
months = defaultdict(list)
skipped = 0
for record in csv.DictReader(raw):
    try:
        day = datetime.strptime(record["date"], "%Y-%m-%d")
        value = float(record["temp"])
    except (ValueError, KeyError):
        skipped += 1
        continue
    if math.isnan(value):
        continue
    months[day.strftime("%B")].append(value)

report = {
    month: {"n": len(v), "min": min(v), "max": max(v), "avg": round(sum(v) / len(v), 2)}
    for month, v in months.items()
}
print(f"skipped {skipped} rows")
report
