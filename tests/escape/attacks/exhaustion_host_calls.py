# harm: code that is always in a function of the host is never taken off, and outlives its limit
# not foreign landlock: another Python has no files of its own there
# expect: limit/wall_time
# limit: wall_seconds=0.5
import collections, itertools, os
fd = os.open('/tmp/f', os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 16 << 20)
buffer = bytearray(16 << 20)
collections.deque(itertools.starmap(os.preadv, itertools.repeat((fd, [buffer], 0))), 0)
