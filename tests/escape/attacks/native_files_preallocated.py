# harm: room is taken without writing: fallocate, holes, mappings of files
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# limit: wall_seconds=5
# never: was
import mmap, os
for size in (1 << 30, 1 << 34, 1 << 40, (1 << 62)):
    fd = os.open("/tmp/big", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    for use in (lambda: os.posix_fallocate(fd, 0, size), lambda: os.ftruncate(fd, size), lambda: os.pwrite(fd, b"x", size), lambda: mmap.mmap(fd, size)):
        try:
            use()
            print("was given", size)
        except (OSError, ValueError, OverflowError):
            pass
    os.close(fd)
