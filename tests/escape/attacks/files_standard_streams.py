# harm: closing or reopening the standard streams breaks the report or the next run's output
# expect: completed failed
import os, sys
for fd in (0, 1, 2):
    try:
        os.close(fd)
    except OSError:
        pass
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None
sys.stdin = open("/tmp/in", "w")
print("into the void")
raise ValueError("and now report this")
