# harm: a stopped child keeps its run from ending
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed
# limit: processes=4 wall_seconds=5
import os, signal, time
child = os.fork()
if child == 0:
    while True:
        time.sleep(1000)
os.kill(child, signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
