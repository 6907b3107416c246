# harm: private files grow beyond their quota and take the machine's memory
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# expect landlock: limit/files
# limit: wall_seconds=20
import os
total = 0
for folder in ("/tmp", "/output", "/input"):
    for i in range(200):
        try:
            with open(f"{folder}/{i}", "wb", buffering=0) as file:
                while True:
                    total += file.write(b"x" * (1 << 20))
        except OSError:
            pass
assert total <= 200 << 20, total
