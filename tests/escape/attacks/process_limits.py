# harm: limits are raised, or those of others are changed
# engines: native
# expect: completed
# never: raised
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
for name in [n for n in dir(resource) if n.startswith("RLIMIT_")]:
    number = getattr(resource, name)
    soft, hard = resource.getrlimit(number)
    for wanted in ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (soft, hard + 1 if hard >= 0 else hard)):
        if hard == resource.RLIM_INFINITY:
            continue
        try:
            resource.setrlimit(number, wanted)
            print("raised", name)
        except (OSError, ValueError):
            pass
    for pid in [p for p in range(2, 300)] + [os.getppid() or 2]:
        try:
            resource.prlimit(pid, number, (0, 0))
            print("raised", name, "of", pid)
        except (OSError, ValueError):
            pass
