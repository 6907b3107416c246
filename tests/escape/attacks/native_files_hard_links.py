# harm: a second name for a library file lies where it can be written
# engines: native
# expect: completed
# never: linked
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
for path in (json.__file__, "/etc/passwd", "/lib/x86_64-linux-gnu/libc.so.6", "/dev/zero"):
    for target in ("/tmp/second", "/output/second"):
        try:
            os.link(path, target)
            print("linked", path)
        except OSError:
            pass
        if libc.linkat(-100, path.encode(), -100, target.encode(), 0x400) == 0:
            print("linked", path)
