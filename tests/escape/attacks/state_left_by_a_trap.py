# harm: a run that crashed leaves its memory to the next
# not foreign landlock: another Python has no files of its own there
# expect: failed/crashed
import builtins, os
builtins.leftover = "SECRET-OF-THE-CRASHED"
open("/tmp/leftover", "w").write("x")
big = [bytes(f"SECRET-OF-THE-CRASHED-{i}", "ascii") * 100 for i in range(10000)]
os.abort()
