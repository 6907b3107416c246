# harm: /tmp and /output hold more than their quota
# expect: completed failed limit/memory limit/files
# limit: wall_seconds=5
total = 0
try:
    for i in range(1000):
        with open(f"/tmp/{i}", "wb") as file:
            for _ in range(64):
                total += file.write(b"x" * (1 << 20))
                file.flush()
except OSError as error:
    print(error)
total >> 20
