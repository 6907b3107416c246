# harm: a hundred thousand files fill the worker, or drown the host's capture
# expect: completed failed limit
# limit: wall_seconds=5
made = 0
try:
    for i in range(100_000):
        open(f"/output/{i}", "w").close()
        made += 1
except OSError as error:
    print(error)
made
