# Never ends by itself: the limit on wall time ends it, and its output until then is kept.
#
#   caisson run --limit wall_seconds=1 limits.py        # exit status 1
print("counting...", flush=True)
n = 0
while True:
    n += 1
