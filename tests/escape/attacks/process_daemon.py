# harm: a grandchild in a session of its own outlives its run
# engines: native
# not landlock: a cell is one process there, and a limit of more processes is refused
# expect: completed
# limit: processes=8
import os, signal, time
read, write = os.pipe()
if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        os.write(write, b"x")
        while True:
            time.sleep(1000)
    os._exit(0)
os.read(read, 1)
