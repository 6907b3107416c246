# harm: exceptions chained a hundred thousand deep, or in a circle, hang or overflow the report
# expect: failed limit
# limit: wall_seconds=2
a = ValueError("0")
first = a
for i in range(100_000):
    b = ValueError(str(i))
    b.__context__ = a
    a = b
first.__cause__ = a
raise a
