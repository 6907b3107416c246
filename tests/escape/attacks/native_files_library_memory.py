# harm: pages of a library that all cells share are written through a mapping
# engines: native
# expect: completed
# never: written
import _ctypes, json, mmap, os, re
for path in (json.__file__, _ctypes.__file__, re.__file__):
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY):
        try:
            fd = os.open(path, flags)
        except OSError:
            continue
        if flags != os.O_RDONLY:
            print("written: opened", path)
        for kind in (mmap.ACCESS_WRITE,):
            try:
                mmap.mmap(fd, 0, access=kind)[0] = 65
                print("written", path)
            except (OSError, ValueError, TypeError):
                pass
        try:
            os.fchmod(fd, 0o666)
            print("written mode", path)
        except OSError:
            pass
        os.close(fd)
