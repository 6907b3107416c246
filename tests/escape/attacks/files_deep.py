# harm: folders nested without end, names without end
# expect: completed failed limit
# limit: wall_seconds=5
import os
path, depth = "/output", 0
try:
    while depth < 100_000:
        path += "/d"
        os.mkdir(path)
        depth += 1
except OSError as error:
    print(depth, error)
for name in ("n" * 300, "n" * 5000, "n" * (1 << 20), "\udcff", "a/../" * 1000 + "b", "." * 100, "\n\r\x1b[31m", "nul\0"):
    try:
        open("/output/" + name, "w").close()
    except (OSError, ValueError, UnicodeError):
        pass
