# harm: a crash writes the process's memory to disk
# engines: native
# expect: failed/crashed
import ctypes, os, resource
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
except (OSError, ValueError):
    pass
try:
    os.chdir(CANARY_DIR)
except OSError:
    pass
ctypes.string_at(8)
