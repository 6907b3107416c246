# harm: files in a directory that its owner may not list are beyond the limit of all files, and stay behind
# engines: native
# expect: completed
# expect landlock: limit/files
# not foreign landlock: another Python has no files of its own there
# limit: wall_seconds=20
import os
os.mkdir("/tmp/hidden", 0o300)
total = 0
for i in range(20):
    try:
        with open(f"/tmp/hidden/{i}", "wb", buffering=0) as file:
            while True:
                total += file.write(b"x" * (1 << 20))
    except OSError:
        pass
assert total <= 200 << 20, total
