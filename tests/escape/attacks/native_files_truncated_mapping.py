# harm: a mapping whose file shrinks takes more than its own process along
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: failed/crashed
import mmap, os
fd = os.open("/tmp/shrinks", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 1 << 20)
window = mmap.mmap(fd, 1 << 20)
os.ftruncate(fd, 0)
window[500_000] = 1
