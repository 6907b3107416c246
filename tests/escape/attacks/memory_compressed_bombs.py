# harm: a few kilobytes become gigabytes
# expect: limit/memory limit/wall_time
import zlib
bomb = zlib.compress(zlib.compress(b"\0" * (64 << 20), 9), 9)
data = zlib.decompress(zlib.decompress(bomb))
while True:
    data += data
