# harm: a file with a hole of terabytes becomes real bytes in the worker or the host
# expect: completed failed limit
# never: was
import os
for size in (1 << 30, 1 << 31, 1 << 40, (1 << 63) - 1):
    for use in (lambda f: f.truncate(size), lambda f: (f.seek(size - 1), f.write(b"x"), f.flush()), lambda f: os.ftruncate(f.fileno(), size),
                lambda f: os.posix_fallocate(f.fileno(), 0, size), lambda f: os.pwrite(f.fileno(), b"x", size - 1)):
        try:
            with open("/output/sparse", "wb") as file:
                use(file)
                print("was given", size)
        except (OSError, OverflowError, AttributeError, ValueError):
            pass
