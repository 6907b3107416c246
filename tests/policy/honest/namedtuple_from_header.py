import csv
from collections import namedtuple

lines = ["name,age,city", "Ann,31,Oslo", "Bob,27,Rome"]
reader = csv.reader(lines)
Row = namedtuple("Row", next(reader))
people = [Row(*fields) for fields in reader]
oldest = max(people, key=lambda p: int(p.age))
print(oldest, oldest.city, oldest._asdict())
print([p._replace(age=int(p.age) + 1) for p in people])
