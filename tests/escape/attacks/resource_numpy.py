# harm: arrays are memory of their own
# engines: native
# expect: completed failed limit/memory
# limit: wall_seconds=10
try:
    import numpy
except ImportError:
    raise SystemExit
held = []
while True:
    held.append(numpy.ones(1 << 20))
