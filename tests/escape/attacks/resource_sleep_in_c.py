# harm: a wait in C, with the interpreter's lock held, cannot be ended
# engines: native
# expect: limit/wall_time
# limit: wall_seconds=0.3
import ctypes
ctypes.PyDLL(None).sleep(1000)
