# harm: each process has a memory limit of its own, and together they have none
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed failed limit
# limit: processes=8 memory_bytes=33554432 wall_seconds=5
import os
for _ in range(7):
    if os.fork() == 0:
        held = []
        try:
            while True:
                held.append(bytearray(1 << 20))
        except MemoryError:
            os._exit(len(held) > 40)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(7)]
assert not any(codes), codes
