# harm: a run cut off in the middle leaves half-made state, open files, a held lock
# not foreign landlock: another Python has no files of its own there
# expect: limit/wall_time
# limit: wall_seconds=0.3
import builtins, sys
builtins.leftover = 1
sys.modules["leftover"] = sys
file = open("/tmp/leftover", "w")
file.write("x" * 100000)
out = open("/output/leftover", "w")
out.write("x" * 100000)
import _imp
_imp.acquire_lock()
data = {}
while True:
    data[len(data) % 100000] = [0] * 100
