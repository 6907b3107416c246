# harm: the main thread alone ends; the process lives on as a husk that nobody can reap
# engines: native
# expect: failed limit/wall_time
# limit: wall_seconds=0.5
import ctypes, threading, time
EXIT = 60
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
ctypes.CDLL(None).syscall(EXIT, 0)
