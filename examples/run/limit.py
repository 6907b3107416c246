# Never ends by itself: the limit on wall time ends it, and what it printed before is kept.
print("counting...", flush=True)
n = 0
while True:
    n += 1
