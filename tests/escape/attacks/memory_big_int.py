# harm: arithmetic on giant integers cannot be interrupted
# expect: limit failed
# limit: wall_seconds=1
a = 10 ** (10 ** 8)
b = a * a * a
str(b)
