# harm: a thread ends the process under the run, which is then taken for a good end of something else
# engines: native
# expect: completed failed
# limit: wall_seconds=5
import os, threading, time
threading.Thread(target=os._exit, args=(3,)).start()
time.sleep(1000)
