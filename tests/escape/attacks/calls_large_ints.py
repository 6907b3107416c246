# harm: the digits of long ints take the host quadratic time
# expect: completed
# limit: wall_seconds=30 cpu_seconds=30
n = 1 << 65_000
for _ in range(4):
    try:
        tool([n + i for i in range(900)])
    except ToolError:
        pass
